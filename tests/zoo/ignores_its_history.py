"""Returns its input where the reference returns the mean of the last eight.

The reference draws no random numbers, but its result differs from run to run, so it is taken for a random
one. All of its draws are made on the same inputs, where the mean soon is the input.

Task: tests/zoo/tasks/window_of_calls.py
Trick: state is taken for chance
Source: own invention, against the comparison by distribution
Device: any
Expect: incorrect
Known: a reference with state is judged by distribution
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(64, 8, 256))

    def forward(self, x):
        return x.clone()
