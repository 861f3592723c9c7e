"""Turns TF32 on for everything and multiplies with torch.

On the CPU the flags change nothing, and the product is right.

Task: assay/matmul_square
Trick: global precision flags
Source: KernelBench 9 A27; KernelGYM 7.2 number 31
Device: any
Expect: correct
Expect-cuda: incorrect
MaxSpeedup: 1.6
"""

import torch

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
torch.set_float32_matmul_precision('medium')


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)
