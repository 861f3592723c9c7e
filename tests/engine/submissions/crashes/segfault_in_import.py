"""Reads address 0 while it is imported.

status: runtime_error
error: crash SIGSEGV
stage: load
destructive: yes
"""

import ctypes

import torch

ctypes.string_at(0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
