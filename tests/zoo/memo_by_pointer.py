"""Remembers results by the input's address.

Task: assay/relu
Trick: a key that stays when the content changes; an address may not come twice, then nothing is gained
Source: KernelBench 8.1 T5; KernelGYM 7.2 number 15
Device: any
Expect: correct|incorrect
Twin: twin_relu
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
