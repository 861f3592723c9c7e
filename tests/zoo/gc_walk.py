"""Asks the garbage collector for every tensor of the output's shape.

Task: assay/gelu_tanh
Trick: expected outputs are objects of the same interpreter
Source: pygpubench pull request 7; bug V05
Device: any
Expect: incorrect
Run: check
"""

import gc

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for thing in gc.get_objects():
            if type(thing) is torch.Tensor and thing.shape == x.shape and thing.data_ptr() != x.data_ptr():
                if thing.dtype == x.dtype and bool(torch.isfinite(thing).all()) and bool((thing != 0).any()):
                    return thing.clone()
        return torch.zeros_like(x)
