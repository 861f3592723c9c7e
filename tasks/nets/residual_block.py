"""Two 3 x 3 convolutions with batch normalisation, added to the input, as in residual networks."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 4, "channels": 16, "size": 28},
    "gpu": {"batch": 32, "channels": 64, "size": 56},
}
batch, channels, size = SIZES["gpu"].values()


def normalisation(channels):
    norm = nn.BatchNorm2d(channels)
    nn.init.normal_(norm.weight, 1.0, 0.2)
    nn.init.normal_(norm.bias, 0.0, 0.2)
    return norm


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = normalisation(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = normalisation(channels)

    def forward(self, x):
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(y)) + x)


def get_inputs():
    return [torch.randn(batch, channels, size, size)]


def get_init_inputs():
    return [channels]
