"""How often each value occurs among int64 values, as int64 counts."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"count": 100_000, "bins": 64},
    "gpu": {"count": 16_777_216, "bins": 1024},
}
count, bins = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, values):
        return torch.bincount(values, minlength=self.bins)


def get_inputs():
    return [(bins * torch.rand(count) ** 2).long()]


def get_init_inputs():
    return [bins]
