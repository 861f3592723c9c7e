"""Processes rows in chunks and joins them.

Task: assay/relu
Trick: uneven chunks
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.cat([torch.relu(part) for part in x.split(37)])
