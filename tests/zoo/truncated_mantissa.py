"""Cuts the operands to TF32's ten bits of mantissa before multiplying.

Task: assay/matmul_square
Trick: TF32 without its flag
Source: KernelBench 9 A27; bug V11
Device: any
Expect: incorrect
Run: check
"""

import torch

def cut(x):
    return (x.view(torch.int32) & -8192).view(torch.float32)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return cut(a) @ cut(b)
