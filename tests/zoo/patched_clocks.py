"""Slows every clock of the process a hundredfold.

Task: assay/relu
Trick: timing in Python reads patched functions
Source: KernelBench 9 A12; KernelGYM 7.2 number 2
Device: any
Expect: correct
Twin: twin_relu
"""

import time

import torch

def slowed(clock):
    begin = clock()
    return lambda: begin + (clock() - begin) / 100


for name in ("time", "perf_counter", "monotonic", "process_time"):
    setattr(time, name, slowed(getattr(time, name)))
for name in ("perf_counter_ns", "monotonic_ns"):
    setattr(time, name, lambda clock=slowed(getattr(time, name)): int(clock()))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
