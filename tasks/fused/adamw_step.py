"""One AdamW step: new parameters and both new moments, from parameters, gradient and moments."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 128, "cols": 1024},
    "gpu": {"rows": 4096, "cols": 4096},
}
rows, cols = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, rate, beta1, beta2, decay):
        super().__init__()
        self.rate = rate
        self.beta1 = beta1
        self.beta2 = beta2
        self.decay = decay

    def forward(self, weight, gradient, mean, square):
        mean = self.beta1 * mean + (1 - self.beta1) * gradient
        square = self.beta2 * square + (1 - self.beta2) * gradient * gradient
        step = mean / (torch.sqrt(square) + 1e-8)
        return weight * (1 - self.rate * self.decay) - self.rate * step, mean, square


def get_inputs():
    weight, gradient, mean = (torch.randn(rows, cols) for _ in range(3))
    return [weight, gradient, mean, torch.rand(rows, cols) + 0.1]


def get_init_inputs():
    return [0.05, 0.9, 0.99, 0.1]
