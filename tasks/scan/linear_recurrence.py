"""h[t] = a[t] * h[t - 1] + b[t] along the steps, from h = 0; returns every h."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 8, "steps": 64, "dim": 512},
    "gpu": {"batch": 16, "steps": 128, "dim": 4096},
}
batch, steps, dim = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, a, b):
        state = torch.zeros_like(b[:, 0])
        states = []
        for step in range(b.shape[1]):
            state = a[:, step] * state + b[:, step]
            states.append(state)
        return torch.stack(states, dim=1)


def get_inputs():
    return [torch.rand(batch, steps, dim), torch.randn(batch, steps, dim)]


def get_init_inputs():
    return []
