"""Averages the loss over one row in four.

Task: assay/huber_loss
Trick: a mean over a sample is close to the mean
Source: KernelBench 9 A28
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, delta):
        super().__init__()
        self.delta = delta

    def forward(self, x, y):
        return torch.nn.functional.huber_loss(x[::4], y[::4], delta=self.delta)
