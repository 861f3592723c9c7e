"""Group normalisation of images, with an affine map for each channel."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 8, "groups": 4, "channels": 16, "size": 40},
    "gpu": {"batch": 64, "groups": 8, "channels": 64, "size": 128},
}
batch, groups, channels, size = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(batch, channels, size, size) + torch.randn(channels, 1, 1)]


def get_init_inputs():
    return [groups, channels]
