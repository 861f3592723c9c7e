"""Products of pairs of matrices, one pair for each batch element."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 16, "m": 64, "n": 64, "k": 96},
    "gpu": {"batch": 128, "m": 512, "n": 512, "k": 256},
}
batch, m, n, k = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.randn(batch, m, k), torch.randn(batch, k, n)]


def get_init_inputs():
    return []
