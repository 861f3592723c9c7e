"""The reference's own operators.

Task: assay/bias_dropout_residual
Trick: draws other numbers than the reference in every call
Device: any
Expect: correct
Flags: statistical
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(dim))

    def forward(self, x, residual):
        return torch.nn.functional.dropout(x + self.bias, 0.2, True) + residual
