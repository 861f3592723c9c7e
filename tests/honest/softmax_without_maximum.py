"""Softmax without subtracting the maximum: safe for these inputs.

Task: assay/softmax_rows
Trick: other intermediate values
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        e = torch.exp(x)
        return e / e.sum(dim=1, keepdim=True)
