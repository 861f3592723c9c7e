"""Returns the result of the call before.

Task: assay/relu
Trick: one call late: right when the same input is used again
Source: KernelBench 9, null models
Device: any
Expect: incorrect
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        y = self.last if self.last is not None else torch.relu(x)
        self.last = torch.relu(x)
        return y
