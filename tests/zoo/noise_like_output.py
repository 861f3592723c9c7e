"""Returns noise with the output's mean and deviation.

Task: assay/gelu_tanh
Trick: statistics of the output match
Source: KernelBench 8.2 C6
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.randn_like(x) * 0.59 + 0.28
