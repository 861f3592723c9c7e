"""A layer that learns its input's size in the first call.

Task: assay/linear_gelu
Trick: its parameters have no shape yet when weights are copied by name and shape
Device: any
Expect: correct
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.linear = torch.nn.LazyLinear(dim_out)

    def forward(self, x):
        return torch.nn.functional.gelu(self.linear(x))
