"""Matrix times vector."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 800, "cols": 1024},
    "gpu": {"rows": 16384, "cols": 8192},
}
rows, cols = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, a, x):
        return a @ x


def get_inputs():
    return [torch.randn(rows, cols), torch.randn(cols)]


def get_init_inputs():
    return []
