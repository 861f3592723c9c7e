"""A linear layer: weights matter, and so do their names."""

import torch


class Model(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layer = torch.nn.Linear(inputs, outputs)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(7, 32)]


def get_init_inputs():
    return [32, 48]
