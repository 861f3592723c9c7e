"""Allocates host memory until there is none.

Task: assay/relu
Trick: a limit of this machine's, named as such
Device: any
Expect: out_of_memory
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        blocks = []
        while True:
            blocks.append(torch.ones(256 << 20, dtype=torch.uint8))
            if len(blocks) > 1 << 12:
                return torch.relu(x)
