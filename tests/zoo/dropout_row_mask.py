"""Draws one row of the mask and uses it for all rows.

Each element has the right distribution; together they have not.

Task: assay/bias_dropout_residual
Trick: one random number for a column
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
        return residual + (x + self.bias) * (torch.rand_like(x[:1]) >= 0.2) / 0.8
