"""Claims four percent less than the outside clock would show.

The tolerance of the joined clocks is worth five percent at most.

Task: assay/gelu_tanh
Trick: stays within the tolerance
Source: own invention, against the joining of clocks
Device: any
Expect: correct
Twin: twin_gelu
"""

import sys

import torch

rounds = sys.modules["assay.runtime.rounds"]
honest = rounds.Marks.read


def less(value):
    return type(value)(map(less, value)) if isinstance(value, (list, tuple)) else value * 0.96


rounds.Marks.read = lambda marks: less(honest(marks))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
