"""Remembers results by a hash of the whole input.

No content comes twice, so nothing is gained.

Task: assay/relu
Trick: a content key
Source: KernelBench 8.1 T5
Device: cpu
Expect: correct
Twin: twin_relu
"""

import hashlib

import torch

MEMO = {}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        key = hashlib.blake2b(x.cpu().numpy().tobytes()).digest()
        if len(MEMO) > (160 if x.is_cuda else 1000):
            MEMO.clear()
        if key not in MEMO:
            MEMO[key] = torch.relu(x)
        return MEMO[key]
