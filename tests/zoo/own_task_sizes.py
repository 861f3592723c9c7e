"""Defines get_inputs and sizes of its own, eight rows instead of the task's.

Task: assay/relu
Trick: the submission's inputs replace the task's in a shared namespace
Source: KernelBench 9 A15; KernelGYM 7.2 number 29
Device: any
Expect: incorrect
Flags: S8.harness
Run: check
"""

import torch

rows = cols = 8


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        y[:rows] = torch.relu(x[:rows])
        return y
