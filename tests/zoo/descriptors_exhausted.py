"""Opens descriptors until there are none, so that the runtime cannot open its own.

Task: assay/relu
Trick: a failure of the runtime that is not the submission's to see
Source: own invention, against the blame for faults
Device: any
Expect: correct|runtime_error|rejected_cheat
Twin: twin_relu
"""

import os

import torch

KEPT = []


class ModelNew(torch.nn.Module):
    def forward(self, x):
        try:
            while True:
                KEPT.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        return torch.relu(x)
