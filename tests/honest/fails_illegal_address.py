"""A kernel that reads far outside of its input.

Task: assay/relu
Trick: the device context is lost, for this process alone
Device: cuda
Expect: runtime_error
Run: check
"""

import torch
import triton
import triton.language as tl

@triton.jit
def wild(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr + 1000000000000))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        wild[(1,)](x, y)
        return y
