"""A ReLU that lets a thousandth of the negative side through.

Task: assay/relu
Trick: error below a tolerance of 1e-2
Source: KernelBench 8.2 C4; bug N01
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.leaky_relu(x, 1e-3)
