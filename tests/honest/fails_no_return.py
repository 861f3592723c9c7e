"""Forgets to return.

Task: assay/relu
Trick: returns None
Device: any
Expect: incorrect
Error: mismatch structure
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        torch.relu(x)
