"""Logarithm of the sum of exponentials of each row; the rows reach beyond exp's range."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 256, "cols": 1000},
    "gpu": {"rows": 8192, "cols": 8192},
}
rows, cols = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, x):
        return torch.logsumexp(x, dim=1)


def get_inputs():
    return [3 * torch.randn(rows, cols) + 100 * torch.randn(rows, 1)]


def get_init_inputs():
    return []
