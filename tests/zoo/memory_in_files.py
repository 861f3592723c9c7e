"""Keeps memory in files that have no name and are mapped by nobody.

Task: assay/relu
Trick: such memory is not the resident memory of any process
Source: own invention
Device: any
Expect: runtime_error
Run: check
"""

import os

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = [os.memfd_create("x") for _ in range(4)]
        for fd in self.kept:
            os.write(fd, b"x" * (64 << 20))

    def forward(self, x):
        return torch.relu(x)
