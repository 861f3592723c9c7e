"""A reference that leans on its module's names: N, a helper function and torch itself."""

import torch

N = 300
FACTOR = 3.0


def helper(x):
    return torch.tanh(x) * FACTOR


class Model(torch.nn.Module):
    def forward(self, x):
        return helper(x)[:N] + N


def get_inputs():
    return [torch.randn(2 * N)]


def get_init_inputs():
    return []
