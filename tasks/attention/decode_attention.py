"""One new query for each sequence against a cache of keys and values of differing lengths."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 8, "heads": 4, "capacity": 192, "dim": 32},
    "gpu": {"batch": 32, "heads": 16, "capacity": 2048, "dim": 64},
}
batch, heads, capacity, dim = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, q, keys, values, lengths):
        scores = torch.einsum("bhd,bhtd->bht", q, keys) / q.shape[-1] ** 0.5
        times = torch.arange(keys.shape[2], device=keys.device)
        empty = times >= lengths[:, None, None]
        weights = torch.softmax(scores.masked_fill(empty, float("-inf")), dim=-1)
        return torch.einsum("bht,bhtd->bhd", weights, values)


def get_inputs():
    q = 2 * torch.randn(batch, heads, dim)
    keys, values = (torch.randn(batch, heads, capacity, dim) for _ in range(2))
    return [q, keys, values, torch.randint(1, capacity + 1, (batch,))]


def get_init_inputs():
    return []
