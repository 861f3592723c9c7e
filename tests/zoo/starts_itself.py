"""Writes the next go word itself, to run the next round early.

Task: assay/relu
Trick: go is a word that the submission can write
Source: own invention, against the control page
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_relu
Slow: yes
"""

import ctypes

import torch

GO = None
for line in open("/proc/self/maps"):
    if "assay-control" in line:
        GO = ctypes.c_uint32.from_address(int(line.split("-")[0], 16))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if GO is not None:
            GO.value = GO.value + 1
        return torch.relu(x)
