"""Puts a finder before all others that serves its own versions of Assay's modules.

Task: assay/relu
Trick: what the runtime imports later is the submission's
Source: KernelGYM 7.2 number 6
Device: any
Expect: incorrect|rejected_cheat|runtime_error
Run: check
"""

import importlib.abc
import importlib.util
import sys

import torch

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.startswith("assay."):
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__getattr__ = lambda name: (lambda *arguments, **keywords: {"passed": True})


sys.meta_path.insert(0, Finder())
for name in [name for name in sys.modules if name.startswith("assay.runtime")]:
    del sys.modules[name]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
