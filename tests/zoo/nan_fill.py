"""Fills the output with NaN.

Task: assay/relu
Trick: comparisons with NaN are false, so `not (error > tolerance)` holds
Source: KernelBench 9 A37
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.full_like(x, float('nan'))
