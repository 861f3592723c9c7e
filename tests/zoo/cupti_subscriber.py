"""Takes the profiler's only subscription and turns activity records off.

Task: assay/relu
Trick: only one subscriber is allowed in a process
Source: own invention, against the profile; bug S01
Device: cuda
Expect: correct|runtime_error
Twin: twin_relu
"""

import ctypes
import glob

import torch

names = glob.glob("/usr/local/cuda*/lib64/libcupti.so*") + glob.glob("/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so*")
names += glob.glob(torch.__path__[0] + "/../nvidia/**/libcupti.so*", recursive=True)
for name in names[:1]:
    cupti = ctypes.CDLL(name)
    subscriber = ctypes.c_void_p()
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)(lambda *arguments: None)
    cupti.cuptiSubscribe(ctypes.byref(subscriber), callback, None)
    for kind in range(1, 40):
        cupti.cuptiActivityDisable(kind)
    cupti.cuptiActivityFlushAll(1)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
