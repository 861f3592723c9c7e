"""Running sums: a scan of each block of a row, the sum so far carried to the next.

Task: assay/cumsum_rows
"""

import torch
import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, rows, columns: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    start = row.to(tl.int64) * columns
    carried = tl.zeros((ROWS, 1), tl.float32)
    for first in range(0, columns, BLOCK):
        column = first + tl.arange(0, BLOCK)[None, :]
        inside = (row < rows) & (column < columns)
        x = tl.load(x_ptr + start + column, mask=inside, other=0.0)
        tl.store(y_ptr + start + column, tl.cumsum(x, axis=1) + carried, mask=inside)
        carried += tl.sum(x, axis=1)[:, None]


class ModelNew(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, columns = x.shape
        block = min(triton.next_power_of_2(columns), 4096)
        per_program = 1 if x.is_cuda else 64
        grid = (triton.cdiv(rows, per_program),)
        cumsum_kernel[grid](x, y, rows, columns=columns, ROWS=per_program, BLOCK=block, num_warps=8)
        return y
