"""For each of two sets of vectors, the loss of finding its partner among all, by cosine
similarity."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 128, "dim": 128},
    "gpu": {"rows": 2048, "dim": 512},
}
rows, dim = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, a, b):
        a = nn.functional.normalize(a, dim=1)
        b = nn.functional.normalize(b, dim=1)
        similarity = a @ b.t() / self.temperature
        return torch.logsumexp(similarity, dim=1) - similarity.diagonal()


def get_inputs():
    a = torch.randn(rows, dim)
    return [a, 0.5 * a + torch.randn(rows, dim)]


def get_init_inputs():
    return [0.1]
