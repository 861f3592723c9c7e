"""Replaces the copying of results into the arena by nothing.

Task: assay/relu
Trick: what was there before might be an answer
Source: own invention, against the arena
Device: any
Expect: incorrect
Run: check
"""

import sys

import torch

rounds = sys.modules["assay.runtime.rounds"]
for name in ("_take", "_copy", "_hand_over"):
    if hasattr(rounds.Rounds, name):
        setattr(rounds.Rounds, name, lambda self, *arguments: None)
rounds.check_output = lambda value, slots: [value]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
