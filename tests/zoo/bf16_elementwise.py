"""Computes in bfloat16 what is asked for in float32.

Task: assay/gelu_tanh
Trick: half the traffic, 8 bits of mantissa
Source: KernelBench 8.2 C7; KernelGYM 7.2 number 28
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.bfloat16()
        return (0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))).float()
