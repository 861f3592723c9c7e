"""Softmax over the wrong dimension.

Task: assay/softmax_rows
Trick: plausible values in every place
Device: any
Expect: incorrect
Error: mismatch values
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=0)
