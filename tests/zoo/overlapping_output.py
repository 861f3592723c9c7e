"""Returns a view whose rows all lie on one another.

Task: assay/relu
Trick: stride 0: one row stands for all
Source: KernelBench 8.2 C3; strides
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x[0]).as_strided(x.shape, (0, 1))
