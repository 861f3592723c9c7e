"""Writes its first input, as the reference does, and returns the values in one of three buffers, in turn.

Task: assay/ema_update_inplace
Trick: results share a buffer only where a round has more than three calls, and no call can be made again
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, decay):
        super().__init__()
        self.decay = decay
        self.calls = 0
        self.buffers = None

    def forward(self, state, x):
        state.lerp_(x, 1 - self.decay)
        if self.buffers is None:
            self.buffers = [torch.empty_like(state) for _ in range(3)]
        self.calls += 1
        return self.buffers[self.calls % 3].copy_(state)
