"""Writes new keys and values into given slots of two caches and returns both, leaving the old
as they were."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"slots": 512, "fresh": 64, "dim": 512},
    "gpu": {"slots": 32768, "fresh": 2048, "dim": 1024},
}
slots, fresh, dim = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, keys, values, new_keys, new_values, places):
        keys = keys.index_copy(0, places, new_keys)
        return keys, values.index_copy(0, places, new_values)


def get_inputs():
    caches = [torch.randn(slots, dim) for _ in range(2)]
    fresh_rows = [torch.randn(fresh, dim) for _ in range(2)]
    return [*caches, *fresh_rows, torch.randperm(slots)[:fresh]]


def get_init_inputs():
    return []
