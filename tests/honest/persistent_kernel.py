"""One program for each multiprocessor loops over all blocks.

Task: assay/relu
Trick: a kernel that stays on the device for the whole call, and then ends
Device: cuda
Expect: correct
"""

import torch
import triton
import triton.language as tl

PROGRAMS = 4 * torch.cuda.get_device_properties(0).multi_processor_count


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        at = block * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n)
        tl.store(y_ptr + at, tl.maximum(x, 0.0), mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_kernel[(PROGRAMS,)](x, y, x.numel(), BLOCK=2048)
        return y
