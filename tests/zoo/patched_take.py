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
rounds.Rounds._take = lambda self, results, first: None
rounds.check_output = lambda value, slots: [value]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
