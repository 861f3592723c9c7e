"""Makes all slots of the arena point to the first one.

Task: assay/relu
Trick: one input and one result stay in the cache
Source: own invention, against the arena
Device: any
Expect: incorrect|rejected_cheat|runtime_error|correct
Twin: twin_relu
"""

import gc
import sys

import torch

rounds = sys.modules["assay.runtime.rounds"]
for thing in gc.get_objects():
    if isinstance(thing, rounds.Slots):
        for index in range(len(thing.args)):
            thing.args[index], thing.results[index] = thing.args[0], thing.results[0]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
