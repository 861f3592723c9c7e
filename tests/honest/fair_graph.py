"""A CUDA graph that copies each input into its buffer, replays, and returns a clone.

Task: assay/relu
Trick: a graph is no replay of results
Device: cuda
Expect: correct
MaxSpeedup: 1.6
"""

import torch
import triton
import triton.language as tl

@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.maximum(x, 0.0), mask=at < n)


def relu(x, y):
    relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.x, self.y = x.clone(), torch.empty_like(x)
            relu(self.x, self.y)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                relu(self.x, self.y)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
