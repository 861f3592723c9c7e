"""A split-K product with atomic additions in float32.

Task: assay/matmul_square
Trick: not the same bits twice
Device: cuda
Expect: correct
"""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, SPLIT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.program_id(2) * BK, K, SPLIT * BK):
        inner = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.atomic_add(c_ptr + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N))


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.zeros(a.shape[0], b.shape[1], device=a.device)
        grid = (triton.cdiv(a.shape[0], 64), triton.cdiv(b.shape[1], 64), 4)
        matmul[grid](a, b, c, a.shape[0], b.shape[1], a.shape[1], SPLIT=4, BM=64, BN=64, BK=32)
        return c
