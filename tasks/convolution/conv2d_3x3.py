"""3 x 3 convolution of images with padding 1 and bias."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 2, "channels_in": 16, "channels_out": 16, "size": 48},
    "gpu": {"batch": 32, "channels_in": 64, "channels_out": 128, "size": 64},
}
batch, channels_in, channels_out, size = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, 3, padding=1)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch, channels_in, size, size)]


def get_init_inputs():
    return [channels_in, channels_out]
