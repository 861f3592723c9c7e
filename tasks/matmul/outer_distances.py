"""Squared Euclidean distance between every row of x and every row of y."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"m": 256, "n": 256, "dim": 64},
    "gpu": {"m": 4096, "n": 4096, "dim": 128},
}
m, n, dim = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, x, y):
        squares = (x * x).sum(dim=1, keepdim=True) + (y * y).sum(dim=1)
        return squares - 2 * (x @ y.t())


def get_inputs():
    return [torch.randn(m, dim), torch.randn(n, dim)]


def get_init_inputs():
    return []
