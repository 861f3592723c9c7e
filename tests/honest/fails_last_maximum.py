"""Takes the last index of the smallest instead of the first of the largest.

Task: assay/argmax_middle
Trick: indices in range, all wrong
Device: any
Expect: incorrect
Error: mismatch values
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.argmin(x, dim=1)
