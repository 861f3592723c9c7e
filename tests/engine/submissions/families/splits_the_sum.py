"""Another order of summation.

status: correct
task: uniform
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        parts = [torch.relu(x[:, i : i + 32]) @ y[i : i + 32] for i in range(0, 256, 32)]
        return torch.stack(parts).sum(0)
