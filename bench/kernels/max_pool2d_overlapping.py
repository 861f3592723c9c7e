"""3 x 3 maximum, stride 2, padding 1: nine reads an output, of which the cache serves most.

Task: assay/max_pool2d_overlapping
"""

import torch
import triton
import triton.language as tl


@triton.jit
def max_pool_kernel(x_ptr, y_ptr, count, H, W, OH, OW, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wanted = at < count
    column, row, plane = at % OW, at // OW % OH, at // (OW * OH)
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    for dr in tl.static_range(-1, 2):
        for dc in tl.static_range(-1, 2):
            r, c = 2 * row + dr, 2 * column + dc
            inside = wanted & (r >= 0) & (r < H) & (c >= 0) & (c < W)
            x = tl.load(x_ptr + (plane * H + r) * W + c, mask=inside, other=-float("inf"))
            top = tl.maximum(top, x, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y_ptr + at, top, mask=wanted)


class ModelNew(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        out_height, out_width = (height - 1) // 2 + 1, (width - 1) // 2 + 1
        y = torch.empty((batch, channels, out_height, out_width), device=x.device, dtype=x.dtype)
        block = 512 if x.is_cuda else 65536
        max_pool_kernel[(triton.cdiv(y.numel(), block),)](
            x, y, y.numel(), height, width, out_height, out_width, BLOCK=block, num_warps=4
        )
        return y
