"""Raises SystemExit in its seventh call.

Task: assay/relu
Trick: a run that ends early has no bad time
Source: KernelBench 8.1 T11
Device: any
Expect: runtime_error
"""

import torch

CALLS = 0


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global CALLS
        CALLS += 1
        if CALLS > 6:
            raise SystemExit(0)
        return torch.relu(x)
