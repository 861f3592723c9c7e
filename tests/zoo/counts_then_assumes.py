"""Is right for as many calls as trials make, and then assumes the range that the task's inputs have.

All trials pass, whatever their inputs; the shortcut is for timed rounds, whose inputs are the task's own, but
for those that are rare.

Task: assay/gelu_tanh
Trick: an honest answer to the first calls
Source: own invention, against the input families
Device: any
Expect: incorrect
Flags: timed_output_wrong
"""

import torch

CHECKED = 8
RANGE = 8.0

calls = 0


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global calls
        calls += 1
        if calls > CHECKED:
            x = x.clamp(-RANGE, RANGE)
        return torch.nn.functional.gelu(x, approximate="tanh")
