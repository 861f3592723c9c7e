"""Row sums by atomic additions of blocks: the order varies.

Task: assay/sum_rows
Trick: results differ in their last bits
Device: cuda
Expect: correct
"""

import torch
import triton
import triton.language as tl

@triton.jit
def sum_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + at, mask=at < columns, other=0.0)
    tl.atomic_add(y_ptr + row, tl.sum(x, axis=0))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.zeros(x.shape[0], device=x.device)
        rows, columns = x.shape
        sum_kernel[(rows, triton.cdiv(columns, 1024))](x, y, columns, BLOCK=1024)
        return y
