"""Writes the word that ends the loop of rounds.

Task: assay/relu
Trick: rounds that do not take place cost no time
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
            GO.value = 0xFFFFFFFF
        return torch.relu(x)
