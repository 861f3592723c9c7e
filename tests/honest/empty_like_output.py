"""Writes every element of an uninitialised buffer.

Task: assay/relu
Trick: torch.empty looks like the stale-memory hack
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        torch.clamp_min(x, 0, out=y)
        return y
