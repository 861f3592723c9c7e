"""Packs its weights in the first call and keeps them.

Task: assay/low_rank_linear
Trick: a cache that depends on weights, not on inputs
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim_in, dim_out, rank, scale):
        super().__init__()
        self.base = torch.nn.Linear(dim_in, dim_out, bias=False)
        self.down = torch.nn.Linear(dim_in, rank, bias=False)
        self.up = torch.nn.Linear(rank, dim_out, bias=False)
        self.scale = scale
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = (self.base.weight + self.scale * self.up.weight @ self.down.weight).t().contiguous()
        return x @ self.packed
