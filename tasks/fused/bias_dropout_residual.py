"""Adds a bias, drops a fifth of the elements at random, adds a residual: as a transformer trains.
The output is random, so it is compared with the reference's distribution."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 128, "dim": 512},
    "gpu": {"rows": 16384, "dim": 4096},
}
rows, dim = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(dim))
        self.dropout = nn.Dropout(0.2)

    def forward(self, x, residual):
        return residual + self.dropout(x + self.bias)


def get_inputs():
    return [torch.randn(rows, dim), torch.randn(rows, dim)]


def get_init_inputs():
    return [dim]
