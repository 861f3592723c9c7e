"""Calls the garbage collector and reads its own settings.

Task: assay/relu
Trick: imports gc
Device: any
Expect: correct
Run: check
"""

import gc

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        gc.collect()
        assert torch.is_tensor(x) and not x.requires_grad
        return torch.relu(x)
