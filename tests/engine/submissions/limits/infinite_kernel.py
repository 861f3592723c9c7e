"""A kernel that never ends.

status: timeout
error: deadline
run: deadline
device: cuda
destructive: yes
"""

import torch
import triton
import triton.language as tl


@triton.jit
def wait_kernel(x_ptr, y_ptr):
    x = tl.load(x_ptr, volatile=True)
    while x < 1e30:
        x = tl.load(x_ptr, volatile=True)
    tl.store(y_ptr, x)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        wait_kernel[(1,)](x, y)
        return y
