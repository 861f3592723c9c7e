"""Layer normalisation of rows that stay in registers: mean, then the variance about it, one read.

Task: assay/layer_norm
"""

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, rows, dim, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < dim)
    at = row.to(tl.int64) * dim + column
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    mean = tl.sum(x, axis=1)[:, None] / dim
    centred = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=1)[:, None] / dim
    weight = tl.load(weight_ptr + column, mask=column < dim)
    bias = tl.load(bias_ptr + column, mask=column < dim)
    tl.store(y_ptr + at, centred * tl.rsqrt(variance + eps) * weight + bias, mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = torch.nn.LayerNorm(dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, dim = x.shape
        block = triton.next_power_of_2(dim)
        per_program = 1 if x.is_cuda else 64
        layer_norm_kernel[(triton.cdiv(rows, per_program),)](
            x,
            self.norm.weight,
            self.norm.bias,
            y,
            rows,
            dim,
            self.norm.eps,
            ROWS=per_program,
            BLOCK=block,
            num_warps=min(max(block // 512, 1), 16),
        )
        return y
