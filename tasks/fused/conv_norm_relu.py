"""3 x 3 convolution, batch normalisation with the batch's statistics, ReLU."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 4, "channels_in": 8, "channels_out": 16, "size": 40},
    "gpu": {"batch": 32, "channels_in": 64, "channels_out": 64, "size": 64},
}
batch, channels_in, channels_out, size = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels_out)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


def get_inputs():
    return [torch.randn(batch, channels_in, size, size)]


def get_init_inputs():
    return [channels_in, channels_out]
