"""Stops its own process in a call.

A stop that its own pid namespace's first process sends to itself is ignored by the kernel;
elsewhere it hangs until its deadline.

Task: assay/relu
Trick: a stopped process does not run the clock
Source: own invention, against the deadline
Device: any
Expect: correct|timeout|runtime_error|rejected_cheat
Twin: twin_relu
Slow: yes
"""

import os
import signal

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        os.kill(os.getpid(), signal.SIGSTOP)
        return torch.relu(x)
