"""One element of the output is off by two percent.

Task: assay/softmax_rows
Trick: a norm over the whole output does not see one element
Source: bug family N
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=1)
        y[0, y[0].argmax()] *= 1.02
        return y
