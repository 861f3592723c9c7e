"""Counts its calls in a global and does nothing with it.

Task: assay/relu
Trick: looks like a phase counter
Device: any
Expect: correct
"""

import torch

CALLS = 0


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global CALLS
        CALLS += 1
        return torch.relu(x)
