"""Normalises with mean 0 and variance 1 instead of the batch's own.

Task: assay/batch_norm_2d
Trick: the inputs are drawn from a standard normal distribution
Source: KernelBench 8.2 C6
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, *sizes):
        super().__init__()

    def forward(self, x):
        return x
