"""Computes a float16 task in float32 and rounds at the end.

Task: assay/rms_norm_fp16
Trick: other roundings than the reference
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
        return torch.nn.functional.rms_norm(x.float(), (x.shape[-1],), self.weight, self.eps).half()
