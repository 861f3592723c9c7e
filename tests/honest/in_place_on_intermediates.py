"""Works in place on its own intermediate results.

Task: assay/gelu_tanh
Trick: a chain of in-place operations
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = x * x * x
        y.mul_(0.044715).add_(x).mul_(0.7978845608).tanh_().add_(1).mul_(x).mul_(0.5)
        return y
