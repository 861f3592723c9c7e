"""Divides by the norm that standard normal columns are expected to have.

Task: assay/l2_normalize_columns
Trick: the norm of a long random column is nearly constant
Source: KernelBench 9 A23
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x * x.shape[0] ** -0.5
