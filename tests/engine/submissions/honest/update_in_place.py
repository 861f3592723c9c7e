"""Writes its first input where the reference does so too.

status: correct
task: update
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, state, x):
        return state.mul_(0.9).add_(x)
