"""Three linear layers with ReLU between them."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 64, "dim": 256, "hidden": 512, "classes": 64},
    "gpu": {"rows": 2048, "dim": 1024, "hidden": 4096, "classes": 1024},
}
rows, dim, hidden, classes = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, dim, hidden, classes):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(dim, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, classes),
        )

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [4 * torch.randn(rows, dim)]


def get_init_inputs():
    return [dim, hidden, classes]
