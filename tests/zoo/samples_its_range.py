"""Looks at every 997th element and takes a formula for the usual range where those are usual.

A few elements tell the task's own inputs from those of other families: so each family is answered
by what is right for it, and only the task's own inputs are timed.

Task: assay/gelu_tanh
Trick: a formula for the task's own inputs, guarded by a sample
Source: own invention, against the input families
Device: any
Expect: incorrect
Run: check
Known: the families differ from the task's own inputs everywhere, so a sample tells them apart; what
  would be needed is a family that differs in a few secret elements
"""

import torch

RANGE = 8.0


class ModelNew(torch.nn.Module):
    def forward(self, x):
        usual = float(x.reshape(-1)[::997].abs().max()) < 4.5
        if usual:
            x = x.clamp(-RANGE, RANGE)
        return torch.nn.functional.gelu(x, approximate="tanh")
