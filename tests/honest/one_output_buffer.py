"""Returns one persistent buffer from every call.

Task: assay/relu
Trick: each result is overwritten by the next
Device: any
Expect: correct
Flags: output_reused
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, x):
        if self.y is None:
            self.y = torch.empty_like(x)
        torch.clamp_min(x, 0, out=self.y)
        return self.y
