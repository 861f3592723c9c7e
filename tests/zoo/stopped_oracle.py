"""Notices that it was stopped between rounds, which only happens when it is timed.

Task: assay/relu
Trick: wall time without processor time betrays the stop
Source: own invention, against the stop between rounds
Device: any
Expect: correct|incorrect|rejected_cheat
Twin: twin_relu
"""

import time

import torch

WALL, CPU, LAST = 0.0, 0.0, None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global WALL, CPU, LAST
        wall, cpu = time.monotonic(), time.process_time()
        stopped = LAST is not None and (wall - WALL) - (cpu - CPU) > 5e-4
        WALL, CPU = wall, cpu
        if not stopped:
            LAST = torch.relu(x)
        return LAST
