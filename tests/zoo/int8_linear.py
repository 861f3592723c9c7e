"""Quantises operands to 8 bits.

Task: assay/matmul_square
Trick: integer tensor cores
Source: KernelBench 8.2 C7
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        sa, sb = a.abs().amax() / 127, b.abs().amax() / 127
        qa, qb = (a / sa).round(), (b / sb).round()
        return (qa @ qb) * (sa * sb)
