"""Computes in NumPy on the input's own memory.

Task: assay/relu
Trick: a read-only mapping seen as a NumPy array
Device: cpu
Expect: correct
"""

import numpy
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.from_numpy(numpy.maximum(x.numpy(), 0))
