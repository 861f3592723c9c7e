"""Carries tables of its own beside the reference's parameters.

Task: assay/linear_gelu
Trick: the names do not fit exactly, the seed does
Device: any
Expect: correct
Flags: weights_seed
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.linear = torch.nn.Linear(dim_in, dim_out)
        self.register_buffer("table", torch.arange(16.0))

    def forward(self, x):
        return torch.nn.functional.gelu(self.linear(x)) + 0 * self.table[0]
