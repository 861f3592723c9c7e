"""Stores its intermediate result in float16.

Task: assay/relu
Trick: half of the traffic, eleven bits of mantissa
Source: KernelBench 8.2 C7
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x).half().float()
