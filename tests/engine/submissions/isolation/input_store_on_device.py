"""A kernel stores into the input's device memory.

status: incorrect
error: input_mutated input_mutated
device: cuda
destructive: yes
"""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, tl.where(x < 0, 0.0, x), mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        relu_kernel[(triton.cdiv(x.numel(), 256),)](x, x.numel(), BLOCK=256)
        return x.clone()
