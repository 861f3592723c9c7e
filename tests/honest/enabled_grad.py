"""Turns gradients on inside and returns a tensor that requires none.

Task: assay/relu
Trick: autograd is at work
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        with torch.enable_grad():
            y = torch.relu(x.detach().requires_grad_())
        return y.detach()
