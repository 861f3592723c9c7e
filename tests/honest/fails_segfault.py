"""Stores through a null pointer.

Task: assay/relu
Trick: the process dies; the verdict says of what
Device: any
Expect: runtime_error
Error: crash SIGSEGV
Run: check
"""

import ctypes

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        ctypes.memset(0, 0, 8)
        return torch.relu(x)
