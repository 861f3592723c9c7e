"""Works in place although the reference leaves its input alone.

status: incorrect
error: input_mutated input_mutated
says: writes input
destructive: yes
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu_(x)
