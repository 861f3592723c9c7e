"""ReLU: one pass, sixteen elements a thread.

Task: assay/relu
"""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    # Not tl.maximum: that would turn a NaN into 0, where ReLU keeps it.
    tl.store(y_ptr + offsets, tl.where(x < 0, 0.0, x), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        block = 2048 if x.is_cuda else 65536  # the interpreter pays for each program
        relu_kernel[(triton.cdiv(n, block),)](x, y, n, BLOCK=block, num_warps=4)
        return y
