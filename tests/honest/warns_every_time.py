"""Warns in every call and sets filters.

Task: assay/relu
Trick: warnings on standard error
Device: any
Expect: correct
"""

import warnings

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        warnings.simplefilter("always")
        warnings.warn("slow path")
        return torch.relu(x)
