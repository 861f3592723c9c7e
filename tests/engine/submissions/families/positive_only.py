"""Leaves out the ReLU, which positive inputs never need.

status: incorrect
error: mismatch values
task: uniform
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return x @ y
