"""Turns every warning into an exception, as test suites do.

Task: assay/relu
Trick: a warning in the code that calls it would end its process
Device: any
Expect: correct
"""

import warnings

import torch

warnings.simplefilter("error")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.clamp_min(x, 0)
