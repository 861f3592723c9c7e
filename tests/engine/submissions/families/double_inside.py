"""More precision than was asked for.

status: correct
task: uniform
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return (torch.relu(x).double() @ y.double()).float()
