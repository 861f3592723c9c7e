"""Leaves a kernel that never ends on a side stream.

The round is synchronised with the whole device, so it does not end.

Task: assay/relu
Trick: a kernel that waits for work computes without a launch
Source: KernelBench 9 A41; own: persistent kernels
Device: cuda
Expect: timeout|rejected_cheat|runtime_error
Run: check
Slow: yes
"""

import torch
import triton
import triton.language as tl

STARTED = False
SIDE = torch.cuda.Stream()
FLAG = torch.zeros(1, dtype=torch.int32, device='cuda')

@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where(x < 0, 0.0, x), mask=at < n)


def relu(x, y):
    relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)


@triton.jit
def spin(flag_ptr):
    value = 0
    while value == 0:
        value = tl.atomic_add(flag_ptr, 0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global STARTED
        if not STARTED:
            STARTED = True
            with torch.cuda.stream(SIDE):
                spin[(1,)](FLAG)
        y = torch.empty_like(x)
        relu(x, y)
        return y
