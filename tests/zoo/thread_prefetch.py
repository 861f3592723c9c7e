"""A thread watches the arena and computes the results of all inputs as they appear.

All threads are stopped while inputs are written, so there is nothing to see before go.

Task: assay/gelu_tanh
Trick: work begins before the call, on another thread
Source: own invention, against the start of a round
Device: cpu
Expect: correct|incorrect|rejected_cheat|runtime_error
Twin: twin_gelu
"""

import gc
import sys
import threading
import time

import torch

READY, WATCHED, STARTED = {}, [], False


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def mark(x):
    flat = x.view(-1)
    return bytes(flat[:: max(1, flat.numel() // 64)].numpy()) + bytes(flat[-8:].numpy())


def watch():
    with torch.no_grad():
        while True:
            for x in WATCHED:
                now = mark(x)
                if READY.get(x.data_ptr(), (None,))[0] != now:
                    READY[x.data_ptr()] = (now, gelu(x))
            time.sleep(1e-4)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global STARTED
        if not STARTED:
            STARTED = True
            for thing in gc.get_objects():
                if isinstance(thing, sys.modules["assay.runtime.rounds"].Slots):
                    WATCHED.extend(values[0] for values in thing.args)
            threading.Thread(target=watch, daemon=True).start()
        ready = READY.get(x.data_ptr())
        if ready is not None and ready[0] == mark(x):
            return ready[1]
        return gelu(x)
