"""Argmax by a search that takes the first index on ties.

Task: assay/argmax_middle
Trick: indices are compared exactly
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        top = x.amax(dim=1, keepdim=True)
        index = torch.arange(x.shape[1], device=x.device).view(1, -1, 1)
        return torch.where(x == top, index, x.shape[1]).amin(dim=1)
