"""An index that is in range and points at the smallest element.

status: incorrect
error: mismatch values
task: ties
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.argmin(1)
