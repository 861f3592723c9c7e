"""Says that its results are laid out with strides that leave the outputs' memory.

The judge would read memory that it has not mapped, or that is another's.

Task: assay/relu
Trick: the judge follows strides that the submission writes
Source: own invention, against the strides of results
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
    for i in range(64):
        ctypes.c_uint64.from_address(BASE + 320 + 8 * i).value = 0
    for i in range(8):  # behind the 1024 places
        ctypes.c_int64.from_address(BASE + 320 + 8 * 1024 + 8 * i).value = (1 << 40) if i % 2 else -(1 << 20)
    return honest_done(self, *arguments)


native.Control.done = forged_done


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
