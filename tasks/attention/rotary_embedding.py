"""Turns pairs of features of queries and keys by angles that grow with the position."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 4, "heads": 4, "length": 128, "dim": 64},
    "gpu": {"batch": 8, "heads": 32, "length": 1024, "dim": 128},
}
batch, heads, length, dim = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base

    def turn(self, x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    def forward(self, q, k, positions):
        half = q.shape[-1] // 2
        rates = self.base ** (-torch.arange(half, device=q.device, dtype=q.dtype) / half)
        angles = positions[:, None].to(q.dtype) * rates
        cos, sin = angles.cos(), angles.sin()
        return self.turn(q, cos, sin), self.turn(k, cos, sin)


def get_inputs():
    q, k = (torch.randn(batch, heads, length, dim) for _ in range(2))
    return [q, k, torch.randperm(2 * length)[:length]]


def get_init_inputs():
    return [10000.0]
