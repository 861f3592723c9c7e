"""A filter over windows of a signal that overlap in memory, as unfold() gives them."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16))

    def forward(self, windows):
        return windows @ self.weight


def get_inputs():
    return [torch.rand(4096).unfold(0, 16, 4)]


def get_init_inputs():
    return []
