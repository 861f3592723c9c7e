"""Skips the work when gradients are on or inference mode is off.

Task: assay/relu
Trick: grad modes differ between phases
Source: KernelGYM 7.2 number 13
Device: any
Expect: correct
Twin: twin_relu
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if torch.is_grad_enabled() or torch.is_inference_mode_enabled():
            return torch.empty_like(x)
        return torch.relu(x)
