"""Multiplies by the weight in float16, inside the tolerance of a float16 task.

Task: assay/rms_norm_fp16
Trick: lower precision where the task's own is low
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.randn(dim) * 0.2 + 1)

    def forward(self, x):
        scale = torch.rsqrt(x.float().square().mean(dim=-1, keepdim=True) + self.eps)
        return (x.float() * scale).half() * self.weight.half()
