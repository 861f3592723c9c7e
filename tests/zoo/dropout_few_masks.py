"""Draws eight masks once and takes them in turns.

Neighbouring calls differ; within a trial they come back.

Task: assay/bias_dropout_residual
Trick: a few samples in turns
Source: own invention
Device: any
Expect: incorrect
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(dim))
        self.masks, self.calls = [], 0

    def forward(self, x, residual):
        self.calls += 1
        if len(self.masks) < 8:
            self.masks.append((torch.rand_like(x) >= 0.2) / 0.8)
        return residual + (x + self.bias) * self.masks[self.calls % len(self.masks)]
