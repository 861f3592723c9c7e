"""Writes its first input, as the reference does, and returns the values in a buffer of its own.

Task: assay/ema_update_inplace
Trick: an in-place task whose results all stand in one buffer: a round that is run again needs its inputs again
Device: any
Expect: correct
Flags: output_reused
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, decay):
        super().__init__()
        self.decay = decay
        self.buffer = None

    def forward(self, state, x):
        state.lerp_(x, 1 - self.decay)
        if self.buffer is None:
            self.buffer = torch.empty_like(state)
        return self.buffer.copy_(state)
