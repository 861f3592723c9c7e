"""The k largest elements of each row, largest first, and their int64 indices."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 128, "cols": 1000},
    "gpu": {"rows": 4096, "cols": 8192},
}
rows, cols = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        values, indices = torch.topk(x, self.k, dim=1)
        return values, indices


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return [16]
