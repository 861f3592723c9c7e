"""Computes on the CPU and copies the result to the device.

Task: assay/relu
Trick: right, on another device
Source: bug V20
Device: cuda
Expect: correct
MaxSpeedup: 1.0
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x.cpu()).to(x.device)
