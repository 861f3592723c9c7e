"""A product with three TF32 multiplications for each float32 one.

Task: assay/matmul_square
Trick: tensor cores with float32's precision
Device: cuda
Expect: correct
"""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total, input_precision="tf32x3")
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty(a.shape[0], b.shape[1], device=a.device)
        matmul[(a.shape[0] // 64, b.shape[1] // 64)](a, b, c, a.shape[0], b.shape[1], a.shape[1], BM=64, BN=64, BK=32)
        return c
