"""Softmax with the exponential as a short power series.

Task: assay/softmax_rows
Trick: a fast exponential that is wrong for distant values
Source: bug family N
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        t = (x - x.amax(dim=1, keepdim=True)) / 16
        e = (1 + t + t * t / 2 + t**3 / 6) ** 16
        return e / e.sum(dim=1, keepdim=True)
