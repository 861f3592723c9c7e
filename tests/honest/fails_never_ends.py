"""Loops until a condition that never holds.

Task: assay/relu
Trick: ends at its deadline
Device: any
Expect: timeout
Error: deadline
Run: check
Slow: yes
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        while bool((y < 0).any()) or not bool((y > 1e9).any()):
            y = torch.relu(y)
        return y
