"""Replaces the waiting for go in Python: every round starts as soon as the one before is over.

Task: assay/relu
Trick: starts before go
Source: own invention, against the start of a round
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_relu
Slow: yes
"""

import sys

import torch

native = sys.modules["assay.runtime.native"]
native.Control.wait_go = lambda self, number, seconds: True


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
