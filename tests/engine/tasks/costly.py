"""A call long enough (milliseconds on one core, a fraction of one on a GPU) that a shortened clock shows."""

import torch

SIZES = {"cpu": {"n": 1 << 19}, "gpu": {"n": 1 << 24}}
n = SIZES["gpu"]["n"]


class Model(torch.nn.Module):
    def forward(self, x):
        for _ in range(4):
            x = torch.tanh(x) + x
        return x


def get_inputs():
    return [torch.randn(n)]


def get_init_inputs():
    return []
