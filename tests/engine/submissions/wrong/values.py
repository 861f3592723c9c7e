"""Scales the result by a hair more than float32 allows.

status: incorrect
error: mismatch values
stage: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 1.001
