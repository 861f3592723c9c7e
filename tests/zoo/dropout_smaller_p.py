"""Drops a little less than asked for.

Seventeen per cent instead of twenty: less noise, by so little that a look at it shows nothing.

Task: assay/bias_dropout_residual
Trick: another probability
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
        return residual + torch.nn.functional.dropout(x + self.bias, 0.17, True)
