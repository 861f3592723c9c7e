"""Forgets to scale what is kept.

Right in a fifth of the elements.

Task: assay/bias_dropout_residual
Trick: the mask without its 1 / (1 - p)
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
        return residual + (x + self.bias) * (torch.rand_like(x) >= 0.2)
