"""Softmax of rows that stay in registers: one read, one write.

Task: assay/softmax_rows
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < columns)
    at = row.to(tl.int64) * columns + column
    x = tl.load(x_ptr + at, mask=inside, other=-float("inf"))
    top = tl.max(x, axis=1)[:, None]
    e = tl.exp(x - top)
    tl.store(y_ptr + at, e / tl.sum(e, axis=1)[:, None], mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, columns = x.shape
        block = triton.next_power_of_2(columns)
        per_program = 1 if x.is_cuda else 64  # the interpreter pays for each program
        warps = min(max(block // 512, 1), 16)
        grid = (triton.cdiv(rows, per_program),)
        softmax_kernel[grid](x, y, rows, columns, ROWS=per_program, BLOCK=block, num_warps=warps)
        return y
