"""The layer norm of the flash-linear-attention package.

Task: assay/layer_norm
Trick: a real library's kernel, wrapped, with a cache of inputs' devices and shapes of its own
Device: cuda
Expect: correct
Needs: python:fla
"""

import torch
from fla.modules.norm.layernorm import layer_norm


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = torch.nn.LayerNorm(dim)

    def forward(self, x):
        return layer_norm(x, self.norm.weight, self.norm.bias, eps=self.norm.eps)
