"""Says that the results of all calls stand where the first one does.

Task: assay/relu
Trick: one result is shown for many calls
Source: own invention, against the places of results
Device: any
Expect: correct|incorrect|rejected_cheat
Twin: twin_relu
"""

import ctypes
import sys

import torch

LAST = None

native = sys.modules["assay.runtime.native"]
honest_done = native.Control.done
BASE = next(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if "assay-control" in line)


def forged_done(self, *arguments):
    for i in range(128):
        ctypes.c_uint64.from_address(BASE + 320 + 8 * i).value = 0
    return honest_done(self, *arguments)


native.Control.done = forged_done


def calls():
    return ctypes.c_uint32.from_address(BASE + 128).value


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global LAST
        LAST = torch.relu(x) if LAST is None else LAST
        return LAST if calls() > 1 else torch.relu(x)
