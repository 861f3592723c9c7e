"""Sum of the absolute values of each column of a tall matrix."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 2000, "cols": 256},
    "gpu": {"rows": 65536, "cols": 1024},
}
rows, cols = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, x):
        return x.abs().sum(dim=0)


def get_inputs():
    return [torch.randn(rows, cols) * (0.5 + torch.rand(cols))]


def get_init_inputs():
    return []
