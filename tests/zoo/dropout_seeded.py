"""Seeds the generator in every call.

What an engine that seeds before each call would accept.

Task: assay/bias_dropout_residual
Trick: torch.manual_seed in forward
Source: KernelBench 1.7 g
Device: any
Expect: incorrect
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(dim))

    def forward(self, x, residual):
        torch.manual_seed(0)
        return residual + torch.nn.functional.dropout(x + self.bias, 0.2, True)
