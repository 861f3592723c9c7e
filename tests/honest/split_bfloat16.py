"""Multiplies float32 matrices as sums of three bfloat16 parts each.

Task: assay/matmul_square
Trick: mentions bfloat16, has float32's precision
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        def parts(x):
            found = []
            for _ in range(3):
                part = x.bfloat16().float()
                found.append(part)
                x = x - part
            return found


        return sum(p @ q for i, p in enumerate(parts(a)) for j, q in enumerate(parts(b)) if i + j < 3)
