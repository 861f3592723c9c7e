"""Says that its results stand a terabyte behind the end of the outputs.

The judge would read memory that it has not mapped, or that is another's.

Task: assay/relu
Trick: the judge follows offsets that the submission writes
Source: own invention, against the places of results
Device: any
Expect: correct|incorrect|rejected_cheat
Twin: twin_relu
"""

import ctypes
import sys

import torch

native = sys.modules["assay.runtime.native"]
honest_done = native.Control.done
BASE = next(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if "assay-control" in line)


def forged_done(self, *arguments):
    for i in range(128):
        ctypes.c_uint64.from_address(BASE + 320 + 8 * i).value = 1 << 40
    return honest_done(self, *arguments)


native.Control.done = forged_done


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
