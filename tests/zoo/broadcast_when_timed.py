"""Returns one row for all in timed rounds, which copying broadcasts.

Task: assay/relu
Trick: shapes are looked at after the copy in a round of many calls
Source: own invention, against the order of checks in a round
Device: any
Expect: correct|incorrect|rejected_cheat
Twin: twin_relu
"""

import sys

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_name == "_one" and frame.f_locals.get("calls", 1) > 1:
                return torch.relu(x[:1])
            frame = frame.f_back
        return y
