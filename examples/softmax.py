"""Softmax over the last dimension as a Triton kernel: one program a row, one read and one write.

    assay eval --task assay/softmax_rows examples/softmax.py
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    column = tl.arange(0, BLOCK)
    inside = column < columns
    x = tl.load(x_ptr + row + column, mask=inside, other=-float("inf")).to(tl.float32)
    # The largest element becomes exp(0), so no exponent overflows.
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row + column, e / tl.sum(e, axis=0), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        columns = x.shape[-1]
        block = triton.next_power_of_2(columns)
        warps = min(max(block // 512, 1), 16)
        softmax_kernel[(x.numel() // columns,)](x, y, columns, BLOCK=block, num_warps=warps)
        return y
