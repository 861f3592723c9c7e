"""Lies about types through the builtins of the runtime's modules.

Task: assay/relu
Trick: type() is looked up in the module before the builtins
Source: own invention, against the exact type check
Device: any
Expect: incorrect|rejected_cheat|runtime_error
Run: check
"""

import sys

import torch

class Lazy(list):
    shape = property(lambda self: self[0].shape)

    def __init__(self, x):
        super().__init__([x])


for name in ("rounds", "tree", "candidate"):
    module = sys.modules["assay.runtime." + name]
    module.type = lambda value: torch.Tensor
    module.isinstance = lambda value, kinds: True


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Lazy(x)
