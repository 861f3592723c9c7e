"""Leaves seconds of work on a side stream and never waits for it.

A millisecond of work a call that outlasts the round and runs into the reference's.

Task: assay/relu
Trick: device work runs on while the reference is timed
Source: KernelGYM 7.2 number 21; own: done
Device: cuda
Expect: correct|rejected_cheat|incorrect|timeout
Twin: twin_relu
"""

import sys

import torch

SIDE = torch.cuda.Stream()
rounds = sys.modules['assay.runtime.rounds']
rounds.Rounds._synchronize = lambda self: torch.cuda.current_stream().synchronize()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        with torch.cuda.stream(SIDE):
            torch.cuda._sleep(int(2e6))
        return torch.relu(x)
