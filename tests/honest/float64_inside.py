"""Computes in float64 and rounds once.

Task: assay/gelu_tanh
Trick: closer to the truth than the reference
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        d = x.double()
        return (0.5 * d * (1 + torch.tanh(0.7978845608 * (d + 0.044715 * d**3)))).float()
