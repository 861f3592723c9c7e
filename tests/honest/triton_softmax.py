"""A row softmax, one program a row.

Task: assay/softmax_rows
Trick: padding with minus infinity
Device: any
Expect: correct
Run-cpu: check
"""

import torch
import triton
import triton.language as tl

@triton.jit
def softmax_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * columns + at, e / tl.sum(e, axis=0), mask=at < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows, columns = x.shape
        softmax_kernel[(rows,)](x, y, columns, BLOCK=triton.next_power_of_2(columns))
        return y
