"""Returns the mean of what the reference draws.

The right value on average, and no random numbers: calls on the same inputs must differ.

Task: assay/bias_dropout_residual
Trick: the expectation for the distribution
Source: KernelBench 9 H30, the other way round
Device: any
Expect: incorrect
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(dim))

    def forward(self, x, residual):
        return residual + x + self.bias
