"""Sleeps for an hour when it is loaded.

Task: assay/relu
Trick: the load deadline, not the call's
Device: any
Expect: timeout
Error: deadline
Run: check
Slow: yes
"""

import time

import torch

time.sleep(3600)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
