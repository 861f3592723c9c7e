"""Returns a copy of its input.

Task: assay/relu
Trick: as returns_input, past an alias check
Source: KernelBench 9 A20
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clone()
