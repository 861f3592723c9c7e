"""A Triton kernel with its own Philox stream, seeded from torch's generator in every call.

Task: assay/bias_dropout_residual
Trick: random bits that have nothing in common with the reference's
Device: any
Expect: correct
Flags: statistical
"""

import torch
import triton
import triton.language as tl

BLOCK = 16384


@triton.jit
def kernel(x_ptr, bias_ptr, residual_ptr, y_ptr, seed, n, dim, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask) + tl.load(bias_ptr + at % dim, mask=mask)
    kept = tl.rand(seed, at) >= 0.2
    residual = tl.load(residual_ptr + at, mask=mask)
    tl.store(y_ptr + at, residual + tl.where(kept, x * 1.25, 0.0), mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(dim))

    def forward(self, x, residual):
        y = torch.empty_like(x)
        seed = int(torch.randint(1 << 31, ()))
        n = x.numel()
        kernel[(triton.cdiv(n, BLOCK),)](x, self.bias, residual, y, seed, n, x.shape[-1], BLOCK=BLOCK)
        return y
