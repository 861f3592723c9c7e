"""Returns the transpose.

Task: assay/relu
Trick: right values, wrong shape
Device: any
Expect: incorrect
Error: mismatch shape
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x).t()
