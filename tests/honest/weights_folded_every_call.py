"""Folds its weights anew in every call.

Task: assay/low_rank_linear
Trick: an algebraic collapse that is right
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

    def forward(self, x):
        return x @ (self.base.weight + self.scale * self.up.weight @ self.down.weight).t()
