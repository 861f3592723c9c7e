"""3 x 3 x 3 convolution of volumes without padding."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 1, "channels_in": 4, "channels_out": 8, "size": 20},
    "gpu": {"batch": 8, "channels_in": 16, "channels_out": 32, "size": 48},
}
batch, channels_in, channels_out, size = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.conv = nn.Conv3d(channels_in, channels_out, 3)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch, channels_in, size, size, size)]


def get_init_inputs():
    return [channels_in, channels_out]
