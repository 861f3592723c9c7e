"""Reads windows that overlap in memory, and writes nothing.

Task: tasks/overlapping_windows.py
Trick: elements of one input share memory; other families of inputs cannot be stored there
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(16))

    def forward(self, windows):
        return (windows * self.weight).sum(1)
