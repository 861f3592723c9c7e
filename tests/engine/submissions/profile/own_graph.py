"""A kernel of its own, captured into a graph once and replayed.

status: correct
run: profiled
device: cuda
"""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.maximum(tl.load(x + at, mask=at < n), 0.0), mask=at < n)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.x, self.y = x.clone(), torch.empty_like(x)
            grid = (triton.cdiv(x.numel(), 1024),)
            relu_kernel[grid](self.x, self.y, x.numel(), BLOCK=1024)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                relu_kernel[grid](self.x, self.y, x.numel(), BLOCK=1024)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
