"""Compiles its function with torch.jit.script.

Task: assay/gelu_tanh
Trick: the scripting compiler reads the source file
Device: any
Expect: correct
"""

import torch


@torch.jit.script
def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return gelu(x)
