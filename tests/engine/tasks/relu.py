"""ReLU of 1061 numbers: a prime, so that every block size has a tail."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(1061)]


def get_init_inputs():
    return []
