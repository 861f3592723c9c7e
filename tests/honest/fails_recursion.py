"""Calls itself without an end.

Task: assay/relu
Trick: the interpreter's own limit
Device: any
Expect: runtime_error
Error: exception RecursionError
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return self.forward(x)
