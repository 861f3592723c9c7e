"""RMS normalisation, forward and backward: gradients of the input and of the weight are asked for."""

import torch

CHECK = "backward"


class Model(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(dim) * 0.2 + 1)

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


def get_inputs():
    return [torch.randn(32, 128)]


def get_init_inputs():
    return [128]
