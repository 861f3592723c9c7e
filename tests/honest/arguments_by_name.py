"""Folds a scale into the weights; the constructor's arguments go by name.

Task: tasks/scaled_linear.py
Trick: `get_init_inputs` returns `[[], {...}]`, as KernelBook's tasks do
Source: drkernel-rl-data
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, scale):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)
        self.scale = scale

    def forward(self, x):
        return torch.nn.functional.linear(x, self.scale * self.layer.weight, self.scale * self.layer.bias)
