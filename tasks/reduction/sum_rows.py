"""Sum of each row."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 512, "cols": 2000},
    "gpu": {"rows": 8192, "cols": 8192},
}
rows, cols = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, x):
        return x.sum(dim=1)


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
