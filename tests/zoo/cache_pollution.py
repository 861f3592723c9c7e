"""Sweeps the processor's caches before it returns, so that the reference starts cold.

Task: assay/gelu_tanh
Trick: the state of the caches is left behind
Source: KernelBench 8.1 T8
Device: cpu
Expect: correct
Twin: twin_gelu
"""

import torch

SWEEP = torch.zeros(16 << 20)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
        SWEEP.add_(1)
        return y
