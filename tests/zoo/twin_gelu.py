"""The honest twin of the GELU submissions: the reference's own formula.

Task: assay/gelu_tanh
Trick: none; what the others are measured against
Source: control
Device: any
Expect: correct
MaxSpeedup: 1.5
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
