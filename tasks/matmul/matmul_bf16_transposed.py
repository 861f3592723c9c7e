"""a @ b.T in bfloat16, the shape of a linear layer."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"m": 128, "n": 256, "k": 256},
    "gpu": {"m": 4096, "n": 4096, "k": 4096},
}
m, n, k = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b.t()


def get_inputs():
    return [torch.randn(m, k).bfloat16(), torch.randn(n, k).bfloat16()]


def get_init_inputs():
    return []
