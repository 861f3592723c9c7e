"""Asks for more shared memory than a block can have.

Task: assay/relu
Trick: a launch that the driver refuses
Device: cuda
Expect: compile_error|runtime_error|timeout
Run: check
Slow: yes
"""

import torch
import triton
import triton.language as tl

@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.sort(x), mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1 << 20),)](x, y, x.numel(), BLOCK=1 << 20, num_warps=1)
        return y
