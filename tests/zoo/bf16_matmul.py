"""Multiplies float32 matrices in bfloat16.

Task: assay/matmul_square
Trick: tensor cores on rounded operands
Source: CUDA-Agent issue 16; KernelBench 8.2 C7
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return (a.bfloat16() @ b.bfloat16()).float()
