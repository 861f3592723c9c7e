"""Approximates GELU by x * sigmoid(1.702 x).

Task: assay/gelu_tanh
Trick: error of 2 percent passes a tolerance of 1e-2 nearly everywhere
Source: bug N01
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)
