"""Defines every name that the task defines, with other values.

status: correct
task: globals
"""

import torch

N = 2
FACTOR = 1e9
SIZES = {"cpu": {"N": 3}, "gpu": {"N": 3}}


def helper(x):
    return x * 0


def get_inputs():
    return [torch.zeros(2)]


def get_init_inputs():
    return ["nonsense"]


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 0


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x)[:300] * 3.0 + 300
