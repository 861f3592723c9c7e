"""Remembers results by address, shape and version counter.

Task: assay/relu
Trick: a key that stays when the content changes; an address may not come twice, then nothing is gained
Source: KernelBench 9 A8
Device: any
Expect: correct|incorrect
Twin: twin_relu
"""

import torch

MEMO = {}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        key = (x.data_ptr(), tuple(x.shape), x._version)
        if len(MEMO) > (160 if x.is_cuda else 1000):
            MEMO.clear()
        if key not in MEMO:
            MEMO[key] = torch.relu(x)
        return MEMO[key]
