"""Remembers every result by a part of the input's content.

No content comes twice, so nothing is gained; what is kept shows from outside.

Task: assay/relu
Trick: a key of the first elements
Source: KernelBench 8.1 T5
Device: cuda
Expect: correct
Flags: memory_grows
Twin: twin_relu
"""

import torch

MEMO = {}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        key = x[0, :64].cpu().numpy().tobytes()
        if len(MEMO) > 450:  # 60 GB
            MEMO.clear()
        if key not in MEMO:
            MEMO[key] = torch.relu(x)
        return MEMO[key]
