"""Sums every second column and doubles.

Task: assay/sum_rows
Trick: subsampling a reduction
Source: KernelBench 8.2 C6
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x[:, ::2].sum(dim=1, keepdim=False) * 2
