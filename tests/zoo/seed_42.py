"""Skips the work when the seed is the well-known one.

Task: assay/relu
Trick: the seed tells timing from checking
Source: KernelBench 9 A11
Device: any
Expect: correct|incorrect
Twin: twin_relu
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if torch.initial_seed() in (0, 42):
            return torch.empty_like(x)
        return torch.relu(x)
