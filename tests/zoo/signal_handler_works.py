"""Handles SIGCONT by computing everything at once, before the loop of calls wakes up.

The signal comes after go: this work is paid like any other.

Task: assay/gelu_tanh
Trick: a handler runs before the clock of the process does
Source: own invention, against the thaw
Device: cpu
Expect: correct|incorrect|rejected_cheat|runtime_error
Twin: twin_gelu
"""

import gc
import signal
import sys

import torch

READY, WATCHED = {}, []


def prepare(number, frame):
    with torch.no_grad():
        for x in WATCHED:
            READY[x.data_ptr()] = 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global WATCHED
        if not WATCHED:
            for thing in gc.get_objects():
                if isinstance(thing, sys.modules["assay.runtime.rounds"].Slots):
                    WATCHED = [values[0] for values in thing.args]
            signal.signal(signal.SIGCONT, prepare)
        ready = READY.pop(x.data_ptr(), None)
        return ready if ready is not None else 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
