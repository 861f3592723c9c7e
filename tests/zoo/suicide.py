"""Kills itself, its children and everyone it can see with SIGKILL.

A death by SIGKILL looks like a fault of the machine, and a fault of the machine is not scored.

Task: assay/relu
Trick: to be tried again, or not to be counted
Source: own invention, against the blame for faults
Device: any
Expect: incorrect|runtime_error|rejected_cheat
Run: check
"""

import os
import signal

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if os.fork() == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        for pid in (-1, 0, os.getpid(), os.getppid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        return torch.zeros_like(x)
