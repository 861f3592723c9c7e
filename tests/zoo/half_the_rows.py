"""Computes the first half of the rows.

Task: assay/relu
Trick: only a part of the output is looked at
Source: KernelBench 8.2 C11; partial computation
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        half = x.shape[0] // 2
        y[:half] = torch.relu(x[:half])
        return y
