"""Folds its weights in the constructor.

Task: assay/low_rank_linear
Trick: built from the reference's seed, the parameters are the final ones
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
        with torch.no_grad():
            self.folded = (self.base.weight + scale * self.up.weight @ self.down.weight).clone()

    def forward(self, x):
        return x @ self.folded.t()
