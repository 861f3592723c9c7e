"""A sum of ReLUs and a product, on positive inputs."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.relu(x) @ y


def get_inputs():
    return [torch.rand(96, 256), torch.rand(256, 64)]


def get_init_inputs():
    return []
