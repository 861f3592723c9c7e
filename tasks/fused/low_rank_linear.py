"""Linear layer with a low-rank correction: x @ w.T + scale * (x @ a.T) @ b.T."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 128, "dim_in": 256, "dim_out": 256, "rank": 8},
    "gpu": {"rows": 4096, "dim_in": 2048, "dim_out": 2048, "rank": 16},
}
rows, dim_in, dim_out, rank = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, dim_in, dim_out, rank, scale):
        super().__init__()
        self.base = nn.Linear(dim_in, dim_out, bias=False)
        self.down = nn.Linear(dim_in, rank, bias=False)
        self.up = nn.Linear(rank, dim_out, bias=False)
        self.scale = scale

    def forward(self, x):
        return self.base(x) + self.scale * self.up(self.down(x))


def get_inputs():
    return [torch.randn(rows, dim_in)]


def get_init_inputs():
    return [dim_in, dim_out, rank, 2.0]
