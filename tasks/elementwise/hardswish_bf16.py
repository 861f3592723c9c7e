"""Hard swish, x * clamp(x + 3, 0, 6) / 6, on bfloat16."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 256, "cols": 2048},
    "gpu": {"rows": 8192, "cols": 8192},
}
rows, cols = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, x):
        return x * torch.clamp(x + 3, 0, 6) / 6


def get_inputs():
    return [(2 * torch.randn(rows, cols)).to(torch.bfloat16)]


def get_init_inputs():
    return []
