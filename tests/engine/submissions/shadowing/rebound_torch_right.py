"""Rebinds torch as a whole and still computes the right result by other means.

status: correct
task: globals
"""

import sys

import torch as real


class Nothing:
    def __getattr__(self, name):
        raise AttributeError(f"torch.{name}")


torch = sys.modules["torch"] = Nothing()


class ModelNew(real.nn.Module):
    def forward(self, x):
        e = x[:300].mul(2).exp()
        return (e - 1).div(e + 1).mul(3.0).add(300)
