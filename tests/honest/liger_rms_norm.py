"""The RMS norm of the liger-kernel package.

Task: assay/rms_norm_fp16
Trick: a real library's kernel, wrapped
Device: cuda
Expect: correct
Needs: python:liger_kernel
"""

import torch
from liger_kernel.ops.rms_norm import LigerRMSNormFunction


class ModelNew(torch.nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.randn(dim) * 0.2 + 1)

    def forward(self, x):
        return LigerRMSNormFunction.apply(x, self.weight, self.eps, 0.0, "none", False)
