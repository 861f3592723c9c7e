"""Destroys its device context in a call and returns.

Task: assay/relu
Trick: an error that reads like a lost device
Source: own invention, against the blame for faults; bug P01
Device: cuda
Expect: runtime_error|incorrect|rejected_cheat
Run: check
"""

import ctypes

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        cuda = ctypes.CDLL('libcuda.so.1')
        context = ctypes.c_void_p()
        cuda.cuCtxGetCurrent(ctypes.byref(context))
        cuda.cuDevicePrimaryCtxReset_v2(0)
        return y
