"""Computes straight into the judge's arena and skips the copy that the clock forgives.

The bracket of a round holds the copying of K results into the arena. The reference's process says
what a bracket costs, and that is taken off the candidate's outside clock. A candidate that writes
its results into the arena itself has no copying to pay, is given the discount all the same, and
lies about its inside clock.

Task: assay/relu
Trick: finds the output slots by gc, computes with out=, makes the copy a no-op, claims no time
Source: own invention, against the calibrated bracket
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error
Twin: twin_relu
"""

import gc
import sys

import torch

rounds = sys.modules["assay.runtime.rounds"]
for name in ("_take", "_copy"):
    if hasattr(rounds.Rounds, name):
        setattr(rounds.Rounds, name, lambda self, *arguments: None)
honest_read = rounds.Marks.read
rounds.Marks.read = lambda marks: shrunk(honest_read(marks))
PLACES = {}


def shrunk(value):
    return type(value)(map(shrunk, value)) if isinstance(value, (list, tuple)) else value * 1e-3


def places():
    for thing in gc.get_objects():
        if isinstance(thing, rounds.Slots):
            for values, results in zip(thing.args, thing.results):
                PLACES[values[0].data_ptr()] = results[0]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if x.data_ptr() not in PLACES:
            places()
        return torch.clamp_min(x, 0, out=PLACES[x.data_ptr()])
