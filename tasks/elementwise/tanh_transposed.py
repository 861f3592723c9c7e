"""tanh(x) * y where x is a transposed view, so its columns are the contiguous direction."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 512, "cols": 384},
    "gpu": {"rows": 8192, "cols": 4096},
}
rows, cols = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, x, y):
        return torch.tanh(x) * y


def get_inputs():
    return [torch.randn(cols, rows).t(), torch.randn(rows, cols)]


def get_init_inputs():
    return []
