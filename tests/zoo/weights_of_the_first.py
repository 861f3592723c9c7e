"""Keeps the weights of its first instance for all later ones.

Task: assay/low_rank_linear
Trick: weights never change in the naive check
Source: KernelBench 8.2 C13
Device: any
Expect: incorrect
Run: check
"""

import torch

FIRST = {}


class ModelNew(torch.nn.Module):
    def __init__(self, dim_in, dim_out, rank, scale):
        super().__init__()
        self.base = torch.nn.Linear(dim_in, dim_out, bias=False)
        self.down = torch.nn.Linear(dim_in, rank, bias=False)
        self.up = torch.nn.Linear(rank, dim_out, bias=False)
        self.scale = scale

    def forward(self, x):
        if not FIRST:
            FIRST["w"] = self.base.weight + self.scale * self.up.weight @ self.down.weight
        return x @ FIRST["w"].t()
