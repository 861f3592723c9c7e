"""Mixer block: one feed-forward layer across tokens and one across channels, both residual."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 4, "tokens": 64, "dim": 128},
    "gpu": {"batch": 64, "tokens": 196, "dim": 512},
}
batch, tokens, dim = SIZES["gpu"].values()


class FeedForward(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


class Model(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.across_tokens = FeedForward(tokens, 2 * tokens)
        self.norm2 = nn.LayerNorm(dim)
        self.across_channels = FeedForward(dim, 2 * dim)

    def forward(self, x):
        x = x + self.across_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.across_channels(self.norm2(x))


def get_inputs():
    return [torch.randn(batch, tokens, dim)]


def get_init_inputs():
    return [tokens, dim]
