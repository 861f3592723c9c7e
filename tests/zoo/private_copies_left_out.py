"""Leaves out copies of the inputs that the reference would pay for.

Task: assay/ema_update_inplace
Trick: the runtime's function that copies a task's inputs returns them as they are
Source: own invention, against tasks whose reference writes its inputs
Device: any
Expect: correct
Twin: twin_ema
"""

import sys

import torch

sys.modules["assay.runtime.rounds"].copied = lambda values: values


class ModelNew(torch.nn.Module):
    def __init__(self, decay):
        super().__init__()
        self.decay = decay

    def forward(self, state, x):
        return state.mul_(self.decay).add_(x, alpha=1 - self.decay)
