"""Right in two calls of three.

Task: assay/relu
Trick: a race that a single check rarely meets
Source: KernelBench 9 A43
Device: any
Expect: incorrect
"""

import random

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        if random.random() < 1 / 3:
            y[0, 0] += 1
        return y
