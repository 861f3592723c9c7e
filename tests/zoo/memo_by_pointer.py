"""Remembers results by the input's address.

Task: assay/relu
Trick: a key that does not change when the content does
Source: KernelBench 8.1 T5; KernelGYM 7.2 number 15
Device: any
Expect: incorrect
"""

import torch

MEMO = {}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        key = x.data_ptr()
        if len(MEMO) > (160 if x.is_cuda else 1000):
            MEMO.clear()
        if key not in MEMO:
            MEMO[key] = torch.relu(x)
        return MEMO[key]
