"""Answers the first call, and with it prepares the inputs of all others.

Task: assay/ema_update_inplace
Trick: what a call may write is in one piece of memory; a later call finds its answer there
Source: own invention, against inputs that a submission may write
Device: any
Expect: incorrect
Run: check
"""

import gc
import sys

import torch

slots = [each for each in gc.get_objects() if isinstance(each, sys.modules["assay.runtime.rounds"].Slots)]


class ModelNew(torch.nn.Module):
    def __init__(self, decay):
        super().__init__()
        self.decay = decay
        self.prepared = False

    def forward(self, state, x):
        if not self.prepared:
            self.prepared = True
            for each in slots:
                for other, values in each.args:
                    if other.data_ptr() != state.data_ptr():
                        other.mul_(self.decay).add_(values, alpha=1 - self.decay)
            return state.mul_(self.decay).add_(x, alpha=1 - self.decay)
        return state
