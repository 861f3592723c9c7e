"""Python recursion without an end.

status: runtime_error
error: exception RecursionError
destructive: yes
"""

import torch


def deeper(x):
    return deeper(x) + 1  # <- the line


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return deeper(x)
