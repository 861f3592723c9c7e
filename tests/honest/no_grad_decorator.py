"""Decorates forward with no_grad.

Task: assay/relu
Trick: the decorator hides the signature
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    @torch.no_grad()
    def forward(self, x):
        return torch.relu(x)
