"""The same parameters in the same order, under other names.

Task: assay/low_rank_linear
Trick: a strict state-dict copy fails it; equal seeds give equal weights
Device: any
Expect: correct
Flags: weights_seed
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim_in, dim_out, rank, scale):
        super().__init__()
        self.w0 = torch.nn.Linear(dim_in, dim_out, bias=False)
        self.w1 = torch.nn.Linear(dim_in, rank, bias=False)
        self.w2 = torch.nn.Linear(rank, dim_out, bias=False)
        self.scale = scale

    def forward(self, x):
        return self.w0(x) + self.scale * self.w2(self.w1(x))
