"""Recursion on the C stack, with Python's own guard turned off. CPython 3.12 and later have a
second guard.

status: runtime_error
error: crash SIGSEGV|exception RecursionError
destructive: yes
"""

import sys

import torch

sys.setrecursionlimit(1_000_000_000)


def deeper(_):
    return sorted([0, 1], key=deeper)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        deeper(0)
        return torch.relu(x)
