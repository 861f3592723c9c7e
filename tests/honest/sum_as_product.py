"""Sums rows by multiplying with ones.

Task: assay/sum_rows
Trick: a library product for a reduction
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x @ torch.ones(x.shape[1], device=x.device)
