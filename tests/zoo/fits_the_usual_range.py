"""Right on [-8, 8], which standard normal inputs never leave.

Task: assay/gelu_tanh
Trick: a formula that is fitted to the range of the task's own inputs
Source: KernelBench 9, polynomial fits
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x.clamp(-8, 8), approximate="tanh")
