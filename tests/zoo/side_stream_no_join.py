"""Launches on a side stream and never joins it.

The side stream does not wait for anything either: the copy of the result may come too early.

Task: assay/relu
Trick: events on the current stream see no work
Source: KernelBench 9 A3; KernelGYM 7.2 number 18
Device: cuda
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_triton_relu
"""

import torch
import triton
import triton.language as tl

SIDE = torch.cuda.Stream()

@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where(x < 0, 0.0, x), mask=at < n)


def relu(x, y):
    relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        with torch.cuda.stream(SIDE):
            relu(x, y)
        return y
