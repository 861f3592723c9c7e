"""Returns memory that it never wrote, hoping that the right answer is still in it.

status: incorrect
error: mismatch values
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
