"""A Triton kernel that uses an undefined name.

Task: assay/relu
Trick: on a GPU the compiler says so, in the interpreter the name is not found
Device: any
Expect: compile_error
Expect-cpu: compile_error|runtime_error
Run: check
"""

import torch
import triton
import triton.language as tl

@triton.jit
def broken(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, rectified(tl.load(x_ptr + at)))  # noqa: F821


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        broken[(1,)](x, y, BLOCK=1024)
        return y
