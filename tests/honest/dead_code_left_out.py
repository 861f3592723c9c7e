"""Leaves out a layer whose result nobody reads.

Task: tasks/dead_layer.py
Trick: less work than the reference does, and the same function
Source: KernelBench 9 H21
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.used = torch.nn.Linear(width, width)
        self.unused = torch.nn.Linear(width, width)

    def forward(self, x):
        return torch.relu(self.used(x))
