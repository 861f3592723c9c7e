"""Linear layer followed by GELU."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 128, "dim_in": 256, "dim_out": 256},
    "gpu": {"rows": 4096, "dim_in": 2048, "dim_out": 4096},
}
rows, dim_in, dim_out = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.linear = nn.Linear(dim_in, dim_out)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x))


def get_inputs():
    return [torch.randn(rows, dim_in)]


def get_init_inputs():
    return [dim_in, dim_out]
