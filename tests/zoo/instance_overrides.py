"""A plain tensor with attributes that compute when a checker calls them.

Task: assay/relu
Trick: methods of the instance hide those of the class
Source: KernelBench 9 A7
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        for name in ("float", "double", "sub", "cpu", "contiguous", "reshape", "clone"):
            setattr(y, name, lambda *arguments, **keywords: torch.relu(x))
        return y
