"""GELU's tanh approximation in one pass, as x * sigmoid(2u): a tanh costs more than an exp.

Task: assay/gelu_tanh
"""

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    # (1 + tanh(u)) / 2 = sigmoid(2u)
    u = 0.7978845608 * (x + 0.044715 * x * x * x)
    tl.store(y_ptr + offsets, x / (1.0 + tl.exp(-2.0 * u)), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        block = 2048 if x.is_cuda else 65536
        gelu_kernel[(triton.cdiv(n, block),)](x, y, n, BLOCK=block, num_warps=4)
        return y
