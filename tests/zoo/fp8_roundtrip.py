"""Stores its intermediate result in 8-bit floats.

Task: assay/relu
Trick: a quarter of the traffic
Source: KernelBench 8.2 C7
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        return y.to(torch.float8_e4m3fn).float()
