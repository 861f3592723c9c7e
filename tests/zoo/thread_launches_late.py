"""A thread launches the kernel 50 microseconds after the call has returned.

Task: assay/relu
Trick: the work is launched when the clock has stopped
Source: KernelBench 9 A5
Device: cuda
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_triton_relu
"""

import threading
import time

import torch
import triton
import triton.language as tl

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


        def later():
            time.sleep(5e-5)
            relu(x, y)


        threading.Thread(target=later, daemon=True).start()
        return y
