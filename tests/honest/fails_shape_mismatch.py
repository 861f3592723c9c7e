"""Multiplies matrices that do not fit.

Task: assay/matmul_square
Trick: an exception from inside torch
Device: any
Expect: runtime_error
Error: exception RuntimeError
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.cat([a, b]) @ torch.cat([a, b])
