"""Drops everything.

One of the outcomes of each element, but never of all.

Task: assay/bias_dropout_residual
Trick: a constant outcome
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
        return residual.clone()
