"""Attention without softmax: features elu + 1 of queries and keys, keys and values summed first."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 4, "heads": 4, "length": 256, "dim": 32},
    "gpu": {"batch": 8, "heads": 16, "length": 2048, "dim": 64},
}
batch, heads, length, dim = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, q, k, v):
        q = nn.functional.elu(q) + 1
        k = nn.functional.elu(k) + 1
        summary = k.transpose(-1, -2) @ v
        total = q @ k.sum(dim=-2).unsqueeze(-1)
        return (q @ summary) / total


def get_inputs():
    q, k, v = (torch.randn(batch, heads, length, dim) for _ in range(3))
    return [q, k, v + torch.randn(batch, heads, 1, dim)]


def get_init_inputs():
    return []
