"""Divides by the expected instead of the actual sum.

Task: assay/softmax_rows
Trick: the sum over many random columns is nearly constant
Source: KernelBench 8.2 C6
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        e = torch.exp(x)
        return e / (x.shape[1] * 90.017)
