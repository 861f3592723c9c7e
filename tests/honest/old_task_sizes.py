"""Carries get_inputs of an older version of the task.

Task: assay/relu
Trick: the task's own inputs are used
Device: any
Expect: correct
Flags: S8.harness
"""

import torch

rows = cols = 16


def get_inputs():
    return [torch.rand(rows, cols)]


def get_init_inputs():
    return []


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
