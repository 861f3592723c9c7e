"""A plain Triton kernel with a mask for the tail.

Task: assay/relu
Trick: num_stages and num_warps are no hack
Device: any
Expect: correct
"""

import torch
import triton
import triton.language as tl

BLOCK = 32768


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.maximum(x, 0.0), mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        relu_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK, num_warps=8, num_stages=2)
        return y
