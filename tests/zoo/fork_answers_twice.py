"""Forks in a call; both processes go on and answer.

Task: assay/relu
Trick: two processes share the channel and the control page
Source: own invention, against the channel
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Expect-cuda: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_relu
"""

import os

import torch

FORKED = False


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global FORKED
        if not FORKED:
            FORKED = True
            os.fork()
        return torch.relu(x)
