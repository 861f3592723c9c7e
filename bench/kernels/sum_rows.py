"""Sums of rows: a row a program, one read.

Task: assay/sum_rows
"""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, y_ptr, rows, columns: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    start = row.to(tl.int64)[:, None] * columns
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(0, columns, BLOCK):
        column = first + tl.arange(0, BLOCK)[None, :]
        inside = (row[:, None] < rows) & (column < columns)
        total += tl.load(x_ptr + start + column, mask=inside, other=0.0)
    tl.store(y_ptr + row, tl.sum(total, axis=1), mask=row < rows)


class ModelNew(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, columns = x.shape
        y = torch.empty(rows, device=x.device, dtype=x.dtype)
        block = min(triton.next_power_of_2(columns), 8192)
        per_program = 1 if x.is_cuda else 64
        sum_kernel[(triton.cdiv(rows, per_program),)](
            x, y, rows, columns=columns, ROWS=per_program, BLOCK=block, num_warps=8
        )
        return y
