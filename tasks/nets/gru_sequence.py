"""Gated recurrent unit over a sequence; returns every state and the last one."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 8, "steps": 16, "dim": 64, "hidden": 64},
    "gpu": {"batch": 64, "steps": 64, "dim": 512, "hidden": 512},
}
batch, steps, dim, hidden = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gru = nn.GRU(dim, hidden, batch_first=True)

    def forward(self, x, state):
        states, last = self.gru(x, state)
        return states, last


def get_inputs():
    return [torch.randn(batch, steps, dim), torch.randn(1, batch, hidden)]


def get_init_inputs():
    return [dim, hidden]
