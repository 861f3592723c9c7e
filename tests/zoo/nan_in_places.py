"""Right but for NaN in one element of a thousand.

Task: assay/relu
Trick: a mean or maximum that skips NaN does not see them
Source: KernelBench 8.2 C3
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        y.view(-1)[::1000] = float('nan')
        return y
