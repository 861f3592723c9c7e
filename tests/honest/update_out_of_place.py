"""Leaves the first input alone where the reference writes it.

Task: assay/ema_update_inplace
Trick: the returned value is what is asked for
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, decay):
        super().__init__()
        self.decay = decay

    def forward(self, state, x):
        return torch.lerp(state, x, 1 - self.decay)
