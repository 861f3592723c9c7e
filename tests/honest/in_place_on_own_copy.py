"""Works in place on a copy of its own.

Task: assay/relu
Trick: in-place operations look like writing to inputs
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = x.clone()
        y.relu_()
        return y
