"""Builds its function from closures, partials and decorators.

Task: assay/relu
Trick: forward is no ordinary method
Device: any
Expect: correct
"""

import functools

import torch


def floored_at(low):
    return lambda function: functools.wraps(function)(lambda *arguments: torch.clamp_min(function(*arguments), low))


@floored_at(0)
def identity(x):
    return x


class ModelNew(torch.nn.Module):
    forward = staticmethod(functools.partial(identity))
