"""The last of several largest elements: what the index points at is the same.

status: correct
task: ties
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.shape[1] - 1 - x.flip(1).argmax(1)
