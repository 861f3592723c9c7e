"""The grid is rounded down: the last 37 elements are never written.

status: incorrect
error: mismatch values
says: tail|scattered|NaN
"""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.maximum(tl.load(x_ptr + at), 0.0))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.full_like(x, -5.0)
        relu_kernel[(x.numel() // 256,)](x, y, x.numel(), BLOCK=256)
        return y
