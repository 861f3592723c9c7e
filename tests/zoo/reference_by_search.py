"""Looks for the task's module and class in memory and on disk and calls that.

Task: assay/relu
Trick: the reference is an object of the same process
Source: KernelGYM 7.2 number 9
Device: any
Expect: incorrect
Run: check
"""

import gc
import sys
import types

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for thing in gc.get_objects():
            if isinstance(thing, type) and thing.__name__ == "Model" and issubclass(thing, torch.nn.Module):
                return thing()(x)
        for module in list(sys.modules.values()):
            if type(module) is types.ModuleType and "get_inputs" in vars(module):
                return module.Model()(x)
        return torch.zeros_like(x)
