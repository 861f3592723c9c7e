"""Leaves the last column zero.

Task: assay/relu
Trick: one element of a thousand
Source: partial computation
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        y[:, -1] = 0
        return y
