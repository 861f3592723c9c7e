"""torch.matmul for the product, a kernel for bias and activation.

Task: assay/linear_gelu
Trick: a library call for part of the work
Device: any
Expect: correct
"""

import torch
import triton
import triton.language as tl


@triton.jit
def bias_gelu(x_ptr, b_ptr, n, columns, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n) + tl.load(b_ptr + at % columns, mask=at < n)
    tl.store(x_ptr + at, 0.5 * x * (1 + tl.erf(x * 0.7071067811865476)), mask=at < n)


class ModelNew(torch.nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.linear = torch.nn.Linear(dim_in, dim_out)

    def forward(self, x):
        y = torch.matmul(x, self.linear.weight.t())
        bias_gelu[(triton.cdiv(y.numel(), 16384),)](y, self.linear.bias, y.numel(), y.shape[1], BLOCK=16384)
        return y
