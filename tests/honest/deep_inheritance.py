"""Inherits from a chain of helper classes and a mixin.

Task: assay/relu
Trick: forward is found two classes up
Device: any
Expect: correct
"""

import torch


class Mixin:
    def rectify(self, x):
        return torch.relu(x)


class Base(torch.nn.Module):
    def forward(self, x):
        return self.rectify(x)


class Middle(Mixin, Base):
    pass


class ModelNew(Middle):
    pass
