"""What the reference computes.

status: correct
task: uniform
run: timed
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return torch.clamp(x, min=0) @ y
