"""For each bag the weighted sum of the table's rows that its indices pick."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"vocabulary": 2000, "dim": 128, "bags": 128, "picks": 32},
    "gpu": {"vocabulary": 100_000, "dim": 256, "bags": 8192, "picks": 64},
}
vocabulary, dim, bags, picks = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, table, indices, weights):
        return (table[indices] * weights.unsqueeze(-1)).sum(dim=1)


def get_inputs():
    indices = torch.randint(vocabulary, (bags, picks))
    return [torch.randn(vocabulary, dim), indices, torch.randn(bags, picks)]


def get_init_inputs():
    return []
