"""The softmax of the liger-kernel package.

Task: assay/softmax_rows
Trick: a real library's kernel, wrapped
Device: cuda
Expect: correct
Needs: python:liger_kernel
"""

import torch
from liger_kernel.ops.softmax import LigerSoftmaxFunction


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return LigerSoftmaxFunction.apply(x)
