"""A layer whose output is scaled; its arguments go by name, as KernelBook writes them."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, *, width, scale=1.0):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.scale = scale

    def forward(self, x):
        return self.layer(x) * self.scale


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return [[], {"width": 256, "scale": 0.5}]
