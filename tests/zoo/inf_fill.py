"""Fills the output with infinity.

Task: assay/relu
Trick: inf - inf is NaN, inf / inf too
Source: KernelBench 9 A36
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.full_like(x, float('inf'))
