"""Dilated convolution of signals, as long as its input."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 4, "channels": 16, "length": 2048, "dilation": 4},
    "gpu": {"batch": 32, "channels": 128, "length": 8192, "dilation": 8},
}
batch, channels, length, dilation = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, 3, padding=dilation, dilation=dilation)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch, channels, length)]


def get_init_inputs():
    return [channels, dilation]
