"""Draws half of the mask and uses it twice.

Each element, and each with its neighbours, has the right distribution.

Task: assay/bias_dropout_residual
Trick: half of the random numbers
Source: own invention
Device: any
Expect: incorrect
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(dim))

    def forward(self, x, residual):
        mask = torch.rand_like(x[: x.shape[0] // 2]) >= 0.2
        return residual + (x + self.bias) * torch.cat([mask, mask]) / 0.8
