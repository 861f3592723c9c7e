"""Keeps what the reference calls parameters as buffers of the same names.

Task: assay/low_rank_linear
Trick: names and shapes fit, kinds do not
Device: any
Expect: correct
"""

import torch


class Weight(torch.nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.register_buffer("weight", torch.nn.Linear(dim_in, dim_out, bias=False).weight.detach().clone())


class ModelNew(torch.nn.Module):
    def __init__(self, dim_in, dim_out, rank, scale):
        super().__init__()
        self.base, self.down, self.up = Weight(dim_in, dim_out), Weight(dim_in, rank), Weight(rank, dim_out)
        self.scale = scale

    def forward(self, x):
        return x @ self.base.weight.t() + self.scale * (x @ self.down.weight.t()) @ self.up.weight.t()
