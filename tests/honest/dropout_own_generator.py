"""Draws from a generator of its own, seeded from the global one.

Task: assay/bias_dropout_residual
Trick: the global generator does not move
Device: any
Expect: correct
Flags: statistical
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(dim))
        self.generator = None

    def forward(self, x, residual):
        if self.generator is None:
            self.generator = torch.Generator(x.device).manual_seed(int(torch.randint(1 << 31, ())))
        kept = torch.rand(x.shape, device=x.device, generator=self.generator) >= 0.2
        return residual + (x + self.bias) * kept / 0.8
