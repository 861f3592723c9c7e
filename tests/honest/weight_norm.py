"""A weight that is computed from two parameters in every call.

Task: assay/linear_gelu
Trick: parametrised layers name their parameters otherwise; the constructor draws as the reference's does
Device: any
Expect: correct
Flags: weights_seed
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.linear = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(dim_in, dim_out))

    def forward(self, x):
        return torch.nn.functional.gelu(self.linear(x))
