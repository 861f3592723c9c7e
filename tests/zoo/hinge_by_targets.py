"""Gives the hinge loss of the predictions' mean, so it reads the targets alone.

Task: tasks/hinge_loss.py
Trick: a mean over many uniform numbers is known in advance
Source: KernelBench 9 A29
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, predictions, targets):
        return torch.clamp(1 - 0.5 * targets, min=0).mean()
