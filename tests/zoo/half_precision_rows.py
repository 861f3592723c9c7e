"""Computes half of the rows in float16.

Task: assay/softmax_rows
Trick: an error averaged over the output is halved
Source: KernelBench 8.2 C7
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        top = x.shape[0] // 2
        low = torch.softmax(x[top:].half().float().half(), dim=1).float()
        return torch.cat([torch.softmax(x[:top], dim=1), low])
