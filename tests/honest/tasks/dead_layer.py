"""A layer, and another one whose result is dropped."""

import torch
import torch.nn as nn

width = 256


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.used = nn.Linear(width, width)
        self.unused = nn.Linear(width, width)

    def forward(self, x):
        hidden = torch.relu(self.used(x))
        self.unused(hidden)
        return hidden


def get_inputs():
    return [torch.rand(64, width)]


def get_init_inputs():
    return [width]
