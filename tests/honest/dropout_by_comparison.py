"""Compares uniform numbers of the right shape with a threshold.

Task: assay/bias_dropout_residual
Trick: the random numbers are used otherwise than torch's dropout uses them
Device: any
Expect: correct
Flags: statistical
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(dim))

    def forward(self, x, residual):
        kept = torch.rand_like(x) >= 0.2
        return torch.where(kept, (x + self.bias) * 1.25, torch.zeros_like(x)) + residual
