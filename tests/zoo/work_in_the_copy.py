"""Returns empty buffers at once and computes while the results are copied.

The marks of the calls see nothing; the outside clock does.

Task: assay/gelu_tanh
Trick: moves the work from the measured calls to the copying that the bracket forgives
Source: own invention, against the calibrated bracket
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error
Twin: twin_gelu
"""

import sys

import torch

PENDING = {}
rounds = sys.modules["assay.runtime.rounds"]
NAME = "_take" if hasattr(rounds.Rounds, "_take") else "_hand_over"
honest_take = getattr(rounds.Rounds, NAME)


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def take(self, results, first):
    for x, y in PENDING.values():
        y.copy_(gelu(x))
    PENDING.clear()
    honest_take(self, results, first)


setattr(rounds.Rounds, NAME, take)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        PENDING[y.data_ptr()] = (x, y)
        return y
