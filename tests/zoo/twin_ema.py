"""The honest twin of the submissions to the task that writes its input.

Task: assay/ema_update_inplace
Trick: none; what the others are measured against
Source: control
Device: any
Expect: correct
MaxSpeedup: 3
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, decay):
        super().__init__()
        self.decay = decay

    def forward(self, state, x):
        return state.mul_(self.decay).add_(x, alpha=1 - self.decay)
