"""Looks in its own memory for what the zygote might have held: tasks, seeds, the judge.

It is right only where it found something. The zygote never had any of it.

Task: assay/relu
Trick: a fork inherits its parent's heap
Source: own invention, against the zygote
Device: any
Expect: incorrect
Run: check
"""

import gc

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for thing in gc.get_objects():
            kind = type(thing)
            if str(kind.__module__) == "assay.runtime.judge" and kind.__name__ in ("Task", "Lane", "Judge"):
                return torch.relu(x)
            if isinstance(thing, dict) and any(type(thing.get(key)) in (list, bytes) for key in ("seeds", "secret", "expected")):
                return torch.relu(x)
        return torch.zeros_like(x)
