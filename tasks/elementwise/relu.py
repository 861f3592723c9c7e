"""ReLU, element by element."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 256, "cols": 1024},
    "gpu": {"rows": 4096, "cols": 8192},
}
rows, cols = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
