"""Returns memory that it has not written.

Task: assay/relu
Trick: hopes for a stale answer in the allocator's memory
Source: KernelBench 9 A1
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
