"""A thread writes noise over the round's length and first slot.

Task: assay/relu
Trick: a round of one call takes less time than one of sixty-four
Source: own invention, against the control page
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_relu
"""

import ctypes
import threading
import time

import torch

STARTED = False


def scribble():
    for line in open("/proc/self/maps"):
        if "assay-control" in line:
            base = int(line.split("-")[0], 16)
    while True:
        ctypes.c_uint32.from_address(base + 128).value = 1
        ctypes.c_uint32.from_address(base + 132).value = 0
        time.sleep(0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global STARTED
        if not STARTED:
            STARTED = True
            threading.Thread(target=scribble, daemon=True).start()
        return torch.relu(x)
