"""Divides by zero in the call.

Task: assay/relu
Trick: a Python exception with a line
Device: any
Expect: runtime_error
Error: exception ZeroDivisionError
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        scale = 1 / (x.dim() - 2)
        return torch.relu(x) * scale
