"""Grouped 3 x 3 convolution with stride 2 on images that are wider than high."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 4, "channels": 32, "height": 32, "width": 64, "groups": 4},
    "gpu": {"batch": 32, "channels": 128, "height": 64, "width": 128, "groups": 8},
}
batch, channels, height, width, groups = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.conv = nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1, groups=groups)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return [channels, groups]
