"""Computes every call of a checked round and only some calls of a timed one.

The number of calls of a round stands in the frame of the loop that calls.

Task: assay/relu
Trick: reads the round's length from its caller's frame and skips half of the calls of long rounds
Source: KernelBench 8.1 T7; KernelGYM 7.2 numbers 14 and 17
Device: any
Expect: correct|incorrect|rejected_cheat
Twin: twin_relu
"""

import sys

import torch

CALLS = 0


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global CALLS
        frame = sys._getframe()
        calls = 1
        while frame is not None:
            if frame.f_code.co_name == "_one":
                calls = frame.f_locals.get("calls", 1)
            frame = frame.f_back
        CALLS += 1
        if calls > 1 and CALLS % 2:
            return torch.empty_like(x)
        return torch.relu(x)
