"""A kernel that always fails inside try, and torch in except.

Task: assay/relu
Trick: the kernel is never run
Source: KernelBench 9 A31
Device: any
Expect: correct
Twin: twin_relu
MaxSpeedup: 1.6
"""

import torch
import triton
import triton.language as tl

@triton.jit
def broken(x_ptr, UNDEFINED: tl.constexpr):
    tl.store(x_ptr, no_such_name)  # noqa: F821


class ModelNew(torch.nn.Module):
    def forward(self, x):
        try:
            broken[(1,)](x, UNDEFINED=1)
            return x
        except Exception:
            return torch.relu(x)
