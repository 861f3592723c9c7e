"""Keeps results in a file, to find them in a later life.

Task: assay/relu
Trick: files that outlive the process
Source: KernelGYM 7.2 number 32
Device: any
Expect: incorrect|runtime_error
Run: check
"""

import os

import torch

PATH = "/tmp/assay-zoo-memo.pt"


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        if os.path.exists(PATH):
            return torch.load(PATH)
        torch.save(y, PATH)
        return y
