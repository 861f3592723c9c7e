"""Makes the mask from the input's bits instead of random numbers.

New for every input, as a timed round sees it; the same input must give another one each time.

Task: assay/bias_dropout_residual
Trick: a hash of the input for a mask
Source: own invention
Device: any
Expect: incorrect
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(dim))

    def forward(self, x, residual):
        bits = (x.contiguous().view(torch.int32) * 747796405 >> 8) & 0xFFFF
        return residual + (x + self.bias) * (bits >= 13107) / 0.8
