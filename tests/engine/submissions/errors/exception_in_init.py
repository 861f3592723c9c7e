"""The constructor fails.

status: runtime_error
error: exception KeyError
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = {}["BLOCK"]  # <- the line

    def forward(self, x):
        return torch.relu(x)
