"""The mean of the last eight inputs, kept in a buffer: the result depends on the calls before."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(64, 8, 256))

    def forward(self, x):
        self.last = torch.cat([self.last[:, 1:], x[:, None]], 1)
        return self.last.mean(1)


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return []
