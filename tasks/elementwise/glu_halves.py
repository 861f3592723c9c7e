"""Gated linear unit: the left half of each row times the sigmoid of its right half."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 256, "cols": 512},
    "gpu": {"rows": 4096, "cols": 4096},
}
rows, cols = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, x):
        value, gate = x.chunk(2, dim=-1)
        return value * torch.sigmoid(gate)


def get_inputs():
    return [torch.randn(rows, 2 * cols)]


def get_init_inputs():
    return []
