"""Parameters under the reference's names, drawn differently: the reference's values are copied in.

status: correct
task: linear
weights: copied
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layer = torch.nn.Linear(inputs, outputs)
        torch.nn.init.zeros_(self.layer.weight)

    def forward(self, x):
        return x @ self.layer.weight.t() + self.layer.bias
