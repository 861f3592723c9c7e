"""Returns float64.

Task: assay/relu
Trick: right values, wrong dtype
Device: any
Expect: incorrect
Error: mismatch dtype
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x.double())
