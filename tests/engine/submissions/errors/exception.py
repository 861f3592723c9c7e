"""An ordinary exception, two calls deep.

status: runtime_error
error: exception ZeroDivisionError
stage: check
says: division by zero
"""

import torch


def divide(a, b):
    return a / b  # <- the line


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x * divide(1, 0)
