"""Remembers results by address, shape and version counter.

Task: assay/relu
Trick: a key that does not change when the content does
Source: KernelBench 9 A8
Device: any
Expect: incorrect
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
