"""A store into the input's memory from outside torch. The input cannot be written, so the process
dies; a second run with copies finds out why.

status: incorrect
error: input_mutated input_mutated
device: cpu
destructive: yes
"""

import ctypes

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        ctypes.memmove(x.data_ptr(), y.data_ptr(), 4 * x.numel())
        return y
