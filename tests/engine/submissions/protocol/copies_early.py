"""Lets a copy engine take the inputs before the round begins, and works on the copy.

Its only hardware queue is blocked until the gate opens, and what was copied before lacks the late words.

status: correct|incorrect|rejected_cheat
at_most: 1.1
device: cuda
task: costly
run: timed
destructive: yes
"""

import ctypes

import torch

DRIVER = ctypes.CDLL("libcuda.so.1")


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.early = ctypes.c_void_p()
        DRIVER.cuStreamCreate(ctypes.byref(self.early), 1)

    def forward(self, x):
        copy = torch.empty_like(x)
        size = ctypes.c_size_t(x.numel() * x.element_size())
        address = ctypes.c_uint64
        DRIVER.cuMemcpyDtoDAsync_v2(address(copy.data_ptr()), address(x.data_ptr()), size, self.early)
        DRIVER.cuStreamSynchronize(self.early)  # there is time: the device is held until all is queued
        for _ in range(4):
            copy = torch.tanh(copy) + copy
        return copy
