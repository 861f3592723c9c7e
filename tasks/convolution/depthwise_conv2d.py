"""5 x 5 convolution of every channel with a filter of its own."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 4, "channels": 16, "size": 48},
    "gpu": {"batch": 32, "channels": 128, "size": 112},
}
batch, channels, size = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 5, padding=2, groups=channels, bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch, channels, size, size)]


def get_init_inputs():
    return [channels]
