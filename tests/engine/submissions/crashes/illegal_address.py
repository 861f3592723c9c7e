"""A Triton kernel stores a terabyte away from its output.

status: runtime_error
error: device_fault|crash
device: cuda
destructive: yes
"""

import torch
import triton
import triton.language as tl


@triton.jit
def stray_kernel(y_ptr, far, BLOCK: tl.constexpr):
    tl.store(y_ptr + far + tl.arange(0, BLOCK), tl.zeros([BLOCK], tl.float32))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        stray_kernel[(1,)](y, 1 << 38, BLOCK=256)
        return y
