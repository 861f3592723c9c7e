"""Sums partial products in an order that differs from call to call.

Task: assay/matmul_square
Trick: split-K: not the same bits twice
Device: any
Expect: correct
Flags: nondeterministic
"""

import random

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        k = a.shape[1] // 8
        pieces = list(range(8))
        random.shuffle(pieces)
        c = torch.zeros(a.shape[0], b.shape[1], device=a.device)
        for i in pieces:
            c += a[:, i * k : (i + 1) * k] @ b[i * k : (i + 1) * k]
        return c
