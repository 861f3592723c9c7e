"""Has a kernel in a branch that is never taken.

Task: assay/relu
Trick: the text shows a kernel
Source: KernelBench 8.2 C10
Device: any
Expect: correct
Twin: twin_relu
MaxSpeedup: 1.6
"""

import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.maximum(tl.load(x_ptr + at, mask=at < n), 0), mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if x.numel() < 0:
            kernel[(1,)](x, x, 0, BLOCK=256)
        return torch.relu(x)
