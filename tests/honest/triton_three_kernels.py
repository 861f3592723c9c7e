"""Three kernels with a workspace between them.

Task: assay/gelu_tanh
Trick: rules on the number of launches
Device: any
Expect: correct
"""

import torch
import triton
import triton.language as tl

@triton.jit
def cube(x_ptr, s_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(s_ptr + at, 0.7978845608 * (x + 0.044715 * x * x * x), mask=at < n)


@triton.jit
def squash(s_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(s_ptr + at, mask=at < n)
    tl.store(s_ptr + at, 1 - 2 / (tl.exp(2 * s) + 1), mask=at < n)


@triton.jit
def scale(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    s = tl.load(s_ptr + at, mask=at < n)
    tl.store(y_ptr + at, 0.5 * x * (1 + s), mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y, space = torch.empty_like(x), torch.empty_like(x)
        n = x.numel()
        grid = (triton.cdiv(n, 32768),)
        cube[grid](x, space, n, BLOCK=32768)
        squash[grid](space, n, BLOCK=32768)
        scale[grid](x, space, y, n, BLOCK=32768)
        return y
