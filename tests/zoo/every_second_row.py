"""Computes even rows and copies each to the next.

Task: assay/relu
Trick: sampled comparison
Source: partial computation
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x[::2]).repeat_interleave(2, dim=0)
