"""Asks the kernel to push its inputs out of memory before it returns.

The reference reads the same pages afterwards; on a machine with swap it would have to fetch them.

Task: assay/relu
Trick: the shared inputs are slower for whoever comes second
Source: own invention, against the reference's timing
Device: cpu
Expect: correct|runtime_error|rejected_cheat
Twin: twin_relu
"""

import ctypes

import torch

LIBC = ctypes.CDLL(None)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        page = x.data_ptr() & ~4095
        for advice in (20, 21):  # MADV_COLD, MADV_PAGEOUT
            LIBC.madvise(ctypes.c_void_p(page), ctypes.c_size_t(x.numel() * 4), advice)
        return y
