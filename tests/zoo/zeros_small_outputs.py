"""Returns zeros where the right values are small.

Each softmax value is about 1e-3: an absolute tolerance of 1e-2 takes zeros for right.

Task: assay/softmax_rows
Trick: zeros lie within a loose absolute tolerance
Source: KernelBench level 1 tasks 23 and 37; KernelGYM 7.2 number 28
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
