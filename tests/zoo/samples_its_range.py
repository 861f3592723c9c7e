"""Looks at every 997th element and takes a formula for the usual range where those are usual.

A few elements tell the task's own inputs from those of other families, but not from those that are rare.

Task: assay/gelu_tanh
Trick: a formula for the task's own inputs, guarded by a sample
Source: own invention, against the input families
Device: any
Expect: incorrect
Run: check
"""

import torch

RANGE = 8.0


class ModelNew(torch.nn.Module):
    def forward(self, x):
        usual = float(x.reshape(-1)[::997].abs().max()) < 4.5
        if usual:
            x = x.clamp(-RANGE, RANGE)
        return torch.nn.functional.gelu(x, approximate="tanh")
