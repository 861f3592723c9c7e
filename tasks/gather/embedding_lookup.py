"""Rows of a learned table, picked by int64 tokens."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"vocabulary": 2000, "dim": 128, "batch": 16, "length": 128},
    "gpu": {"vocabulary": 32000, "dim": 1024, "batch": 64, "length": 512},
}
vocabulary, dim, batch, length = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, vocabulary, dim):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)

    def forward(self, tokens):
        return self.table(tokens)


def get_inputs():
    return [torch.randint(vocabulary, (batch, length))]


def get_init_inputs():
    return [vocabulary, dim]
