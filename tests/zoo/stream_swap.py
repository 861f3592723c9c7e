"""Changes the current stream inside the call, so that two events lie on two streams.

Task: assay/relu
Trick: the end event is recorded on an idle stream
Source: KernelGYM 7.2 number 19
Device: cuda
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_triton_relu
"""

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
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        relu(x, y)
        torch.cuda.set_stream(stream)
        return y
