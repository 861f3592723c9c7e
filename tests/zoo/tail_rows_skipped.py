"""Leaves the last three rows as they are.

Task: assay/relu
Trick: the tail that a block size does not divide is left out
Source: bug families V and N: masked tails
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        y[:-3] = torch.relu(x[:-3])
        return y
