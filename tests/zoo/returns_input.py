"""Returns its input.

Task: assay/relu
Trick: ReLU of inputs that are never negative is the identity
Source: KernelBench 9 A20
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
