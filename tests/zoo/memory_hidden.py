"""Forbids others to read its memory, where its results stand.

Task: assay/relu
Trick: prctl(PR_SET_DUMPABLE), so that the look at the results of a worker that is not root fails
Source: own invention, against results that are read out of the process
Device: cpu
Expect: correct|rejected_cheat
Error: integrity result_place
Twin: twin_relu
"""

import ctypes

import torch

PR_SET_DUMPABLE = 4
ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
