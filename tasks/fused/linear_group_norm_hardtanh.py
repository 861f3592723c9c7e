"""Linear layer, group normalisation of its features, clamp to a range."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 256, "dim_in": 256, "dim_out": 256, "groups": 8},
    "gpu": {"rows": 4096, "dim_in": 2048, "dim_out": 4096, "groups": 32},
}
rows, dim_in, dim_out, groups = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, dim_in, dim_out, groups, low, high):
        super().__init__()
        self.linear = nn.Linear(dim_in, dim_out)
        self.norm = nn.GroupNorm(groups, dim_out)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)
        self.low = low
        self.high = high

    def forward(self, x):
        return torch.clamp(self.norm(self.linear(x)), self.low, self.high)


def get_inputs():
    return [torch.randn(rows, dim_in)]


def get_init_inputs():
    return [dim_in, dim_out, groups, -1.5, 1.0]
