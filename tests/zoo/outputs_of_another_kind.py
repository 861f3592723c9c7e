"""Returns the result wrapped in a tuple, cast to float64, and without its first dimension.

Task: assay/relu
Trick: comparisons that broadcast and promote
Source: KernelBench 9 A35
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return (torch.relu(x)[0].double(),)
