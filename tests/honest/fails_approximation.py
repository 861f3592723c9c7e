"""The exact GELU instead of its approximation by tanh.

Task: assay/gelu_tanh
Trick: closer to GELU than the task, and yet not the task
Device: any
Expect: incorrect
Error: mismatch values
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x)
