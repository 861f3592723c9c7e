"""Multiplies float32 matrices in float16.

Task: assay/matmul_square
Trick: tensor cores on rounded operands
Source: KernelBench 9 A26
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return (a.half() @ b.half()).float()
