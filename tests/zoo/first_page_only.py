"""Computes the first 4096 elements, what a quick check prints.

Task: assay/relu
Trick: checks that compare a prefix
Source: partial computation
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        y.view(-1)[:4096] = torch.relu(x.view(-1)[:4096])
        return y
