"""Rebinds the name torch in its module and computes the right result by other means.

status: correct
task: globals
"""

import torch as real

torch = None


class ModelNew(real.nn.Module):
    def forward(self, x):
        e = x[:300].clamp(-15, 15).mul(2).exp()
        return (e - 1).div(e + 1).mul(3.0).add(300)
