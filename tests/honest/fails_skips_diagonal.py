"""Leaves the diagonal of the triangle out.

Task: assay/gram_lower
Trick: one element in a row is wrong
Device: any
Expect: incorrect
Error: mismatch values
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.tril(x @ x.t(), -1)
