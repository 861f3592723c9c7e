"""Claims that its calls took longer than anything can, so that no ratio of times is a number.

Task: assay/relu
Trick: times that overflow make the verdict inconsistent, and nobody is to blame
Source: own invention
Device: any
Expect: correct
Twin: twin_relu
"""

import sys

import torch


def report(self):
    rows = [[1.7e308] * clock.calls for clock in self.clocks]
    if rows:
        rows[-1] = [1e4] * len(rows[-1])
    return {"inside_us": rows, "taking_us": [0.0] * len(rows)}


sys.modules["assay.runtime.rounds"].Rounds.report = report


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
