"""Product of matrices with a small result and a very long inner dimension."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"m": 32, "n": 32, "k": 12000},
    "gpu": {"m": 128, "n": 128, "k": 262_144},
}
m, n, k = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(m, k), torch.randn(k, n)]


def get_init_inputs():
    return []
