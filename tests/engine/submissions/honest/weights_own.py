"""Parameters under other names and drawn in another order: no equal weights, so a wrong result.

status: incorrect
task: linear
weights: seed
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(outputs, inputs))
        self.b = torch.nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        return x @ self.w.t() + self.b
