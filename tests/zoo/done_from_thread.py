"""A thread answers done for this round and the next ones all the time.

Task: assay/gelu_tanh
Trick: done is a word that anyone in the process can write
Source: own invention, against the control page
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_gelu
"""

import ctypes
import threading
import time

import torch

STARTED = False


def page():
    for line in open("/proc/self/maps"):
        if "assay-control" in line:
            return int(line.split("-")[0], 16)
    raise RuntimeError("there is no control page")


GO, DONE = (ctypes.c_uint32.from_address(page() + at) for at in (0, 64))


def answer():
    while True:
        if 0 < GO.value < 0xFFFFFFFF:
            DONE.value = GO.value + 1
            DONE.value = GO.value
        time.sleep(0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global STARTED
        if not STARTED:
            STARTED = True
            threading.Thread(target=answer, daemon=True).start()
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
