"""Parameters under other names: both sides are built from one seed, and the verdict says so.

status: correct
task: linear
weights: seed
flags: weights_seed
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)

    def forward(self, x):
        return torch.addmm(self.linear.bias, x, self.linear.weight.t())
