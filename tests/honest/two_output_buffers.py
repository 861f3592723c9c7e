"""Alternates between two buffers.

Task: assay/relu
Trick: reuse that shows only after two calls
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.y = [None, None]
        self.turn = 0

    def forward(self, x):
        self.turn ^= 1
        if self.y[self.turn] is None:
            self.y[self.turn] = torch.empty_like(x)
        torch.clamp_min(x, 0, out=self.y[self.turn])
        return self.y[self.turn]
