"""Replaces every comparison that a checker might use by one that agrees.

Task: assay/relu
Trick: the comparator lives in the same interpreter
Source: KernelBench 9 A13; KernelGYM 7.2 number 1
Device: any
Expect: incorrect
Run: check
"""

import torch

def yes(*arguments, **keywords):
    return True


torch.allclose = torch.equal = torch.Tensor.allclose = torch.Tensor.equal = yes
torch.testing.assert_close = lambda *arguments, **keywords: None
torch.isclose = torch.Tensor.isclose = lambda a, b, **keywords: torch.ones_like(a, dtype=torch.bool)
try:
    import numpy

    numpy.allclose = numpy.array_equal = yes
    numpy.mean = lambda *arguments, **keywords: 0.0
except ImportError:
    pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
