"""Index of the largest element along the middle dimension, as int64."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 8, "length": 256, "dim": 256},
    "gpu": {"batch": 64, "length": 1024, "dim": 1024},
}
batch, length, dim = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1)


def get_inputs():
    return [torch.randn(batch, length, dim)]


def get_init_inputs():
    return []
