"""A kernel timer sends SIGCONT to the stopped process: it computes before go.

A process that was stopped by SIGSTOP runs again when anything sends it SIGCONT, and a POSIX timer
can send any signal to its own process while that is stopped. The thread then sees the inputs of the
next round as the judge writes them.

Task: assay/gelu_tanh
Trick: timer_create with SIGEV_SIGNAL and SIGCONT every 0.3 ms; a thread computes results as inputs
  appear
Source: own invention, against the stop between rounds
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error
Twin: twin_gelu
"""

import ctypes
import threading
import time

import torch

C = ctypes.CDLL(None, use_errno=True)
SIGCONT, CLOCK_MONOTONIC = 18, 1


class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int), ("pad", ctypes.c_char * 64)]


def arm(interval_ns):
    timer = ctypes.c_void_p()
    event = Event(None, SIGCONT, 0)  # SIGEV_SIGNAL
    if C.timer_create(CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) != 0:
        raise OSError(ctypes.get_errno(), "timer_create")
    spec = (ctypes.c_long * 4)(0, interval_ns, 0, interval_ns)
    C.timer_settime(timer, 0, spec, None)


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def mark(x):
    flat = x.view(-1)
    return bytes(torch.cat([flat[:: max(1, flat.numel() // 64)], flat[-8:]]).cpu().numpy())


READY = {}  # address -> (mark, result)
SEEN = {}  # address -> input tensor


def watch():
    torch.set_num_threads(1)
    with torch.no_grad():
        while True:
            for address, x in list(SEEN.items()):
                now = mark(x)
                if READY.get(address, (None,))[0] != now:
                    READY[address] = (now, gelu(x))
            time.sleep(1e-4)


def everything_there():
    import gc
    import sys

    for thing in gc.get_objects():
        if isinstance(thing, sys.modules["assay.runtime.rounds"].Slots):
            for values in thing.args:
                SEEN[values[0].data_ptr()] = values[0]


class ModelNew(torch.nn.Module):
    started = False

    def forward(self, x):
        if not ModelNew.started:
            ModelNew.started = True
            everything_there()
            arm(300_000)
            threading.Thread(target=watch, daemon=True).start()
        ready = READY.get(x.data_ptr())
        if ready is not None and ready[0] == mark(x):
            return ready[1]
        return gelu(x)
