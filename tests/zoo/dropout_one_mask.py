"""Draws one mask when it is built and applies it for ever.

Every output is a draw of the reference's; the next one must be another.

Task: assay/bias_dropout_residual
Trick: one sample, remembered
Source: own invention
Device: any
Expect: incorrect
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(dim))
        self.mask = None

    def forward(self, x, residual):
        if self.mask is None:
            self.mask = (torch.rand_like(x) >= 0.2) / 0.8
        return residual + (x + self.bias) * self.mask
