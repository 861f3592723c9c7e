"""A kernel with a helper function, heuristics and a grid that is a function.

Task: assay/gelu_tanh
Trick: code that is chosen when it is compiled
Device: any
Expect: correct
"""

import torch
import triton
import triton.language as tl

@triton.jit
def tanh(x):
    return 1 - 2 / (tl.exp(2 * x) + 1)


@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
@triton.jit
def gelu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at) if EVEN else tl.load(x_ptr + at, mask=at < n)
    y = 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    if EVEN:
        tl.store(y_ptr + at, y)
    else:
        tl.store(y_ptr + at, y, mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        gelu_kernel[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, y, x.numel(), BLOCK=32768)
        return y
