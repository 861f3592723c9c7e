"""Computes once and returns that result ever after.

Task: assay/relu
Trick: a timed loop repeats one input
Source: KernelBench 8.1 T5
Device: any
Expect: incorrect
"""

import torch

RESULT = None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global RESULT
        if RESULT is None:
            RESULT = torch.relu(x)
        return RESULT
