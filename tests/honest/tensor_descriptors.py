"""Loads and stores by tensor descriptors.

Task: assay/relu
Trick: hardware copies (TMA) from read-only memory
Device: cuda
Expect: correct
"""

import torch
import triton
import triton.language as tl

@triton.jit
def relu_kernel(x_ptr, y_ptr, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    y = tl.make_tensor_descriptor(y_ptr, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    at = [tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS]
    y.store(at, tl.maximum(x.load(at), 0.0))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
        y = torch.empty_like(x)
        rows, columns = x.shape
        relu_kernel[(triton.cdiv(rows, 32), triton.cdiv(columns, 64))](x, y, rows, columns, ROWS=32, COLUMNS=64)
        return y
