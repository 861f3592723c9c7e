"""ReLU in place on the caller's tensor.

Task: assay/relu
Trick: half the traffic, and the caller's data is gone
Source: KernelBench 9 A21
Device: any
Expect: incorrect
Expect-cuda: incorrect|runtime_error
Error: input_mutated
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.relu_()
