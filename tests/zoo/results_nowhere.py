"""Says that its results stand where there is no memory.

Task: assay/relu
Trick: whoever looks for the results fails, and a failure of the judge's side is nobody's fault here
Source: own invention, against results that stay where they are
Device: any
Expect: correct|rejected_cheat
Error: integrity result_place
Twin: twin_relu
"""

import sys

import torch

native = sys.modules["assay.runtime.native"]
honest = native.Control.places


def places(control, offsets, strides):
    honest(control, [1 << 45 for _ in offsets], strides)


native.Control.places = places


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
