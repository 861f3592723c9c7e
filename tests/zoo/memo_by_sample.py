"""Remembers results by a checksum of 4096 sampled elements.

No content comes twice, so nothing is gained.

Task: assay/relu
Trick: a content key that is cheaper than the work
Source: KernelBench 9 A9
Device: any
Expect: correct|incorrect
Twin: twin_relu
"""

import torch

MEMO = {}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        key = float(x.view(-1)[:: max(1, x.numel() // 4096)].double().sum())
        if len(MEMO) > (160 if x.is_cuda else 1000):
            MEMO.clear()
        if key not in MEMO:
            MEMO[key] = torch.relu(x)
        return MEMO[key]
