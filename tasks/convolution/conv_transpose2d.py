"""Transposed convolution with stride 2, which doubles the height and width of images."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 2, "channels_in": 16, "channels_out": 8, "size": 32},
    "gpu": {"batch": 16, "channels_in": 64, "channels_out": 32, "size": 64},
}
batch, channels_in, channels_out, size = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.conv = nn.ConvTranspose2d(channels_in, channels_out, 4, stride=2, padding=1)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch, channels_in, size, size)]


def get_init_inputs():
    return [channels_in, channels_out]
