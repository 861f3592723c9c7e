"""Keeps its scratch memory across calls; the result is fresh.

Task: assay/gelu_tanh
Trick: a cache across calls that holds no answers
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scratch = None

    def forward(self, x):
        if self.scratch is None or self.scratch.shape != x.shape:
            self.scratch = torch.empty_like(x)
        torch.mul(x, x, out=self.scratch)
        self.scratch.mul_(0.044715).add_(1).mul_(x).mul_(0.7978845608).tanh_().add_(1)
        return self.scratch * x * 0.5
