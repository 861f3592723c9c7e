"""Gated feed-forward layer in half precision: down(silu(gate(x)) * up(x))."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 64, "dim": 128, "hidden": 256},
    "gpu": {"rows": 4096, "dim": 2048, "hidden": 5504},
}
rows, dim, hidden = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False).half()
        self.up = nn.Linear(dim, hidden, bias=False).half()
        self.down = nn.Linear(hidden, dim, bias=False).half()

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


def get_inputs():
    return [(4 * torch.randn(rows, dim)).half()]


def get_init_inputs():
    return [dim, hidden]
