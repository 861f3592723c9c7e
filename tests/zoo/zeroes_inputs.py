"""Sets its inputs to zero in place and returns zeros.

Task: assay/relu
Trick: a reference that runs later sees zeros too
Source: KernelBench 9 A2
Device: any
Expect: incorrect
Expect-cuda: incorrect|runtime_error
Error: input_mutated
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.zero_()
