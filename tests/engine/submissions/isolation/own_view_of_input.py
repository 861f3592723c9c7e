"""Puts private memory full of zeros where its input was and returns the ReLU of that: it has fooled
only itself.

status: incorrect
device: cpu
destructive: yes
"""

import ctypes

import torch

C = ctypes.CDLL(None)
C.mmap.restype = ctypes.c_void_p


class ModelNew(torch.nn.Module):
    def forward(self, x):
        page = x.data_ptr() & ~4095
        size = (x.data_ptr() + 4 * x.numel() - page + 4095) & ~4095
        # MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS
        if C.mmap(ctypes.c_void_p(page), ctypes.c_size_t(size), 3, 0x32, -1, 0) != page:
            raise RuntimeError("mmap failed")
        return torch.relu(x)
