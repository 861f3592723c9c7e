"""Captures a CUDA graph on its first input and only replays it.

Task: assay/relu
Trick: the graph reads the first input's address for ever
Source: KernelBench 9 A34; KernelGYM 7.2 number 16
Device: cuda
Expect: incorrect
Expect-cuda: incorrect|correct
Twin: twin_triton_relu
"""

import torch
import triton
import triton.language as tl

@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where(x < 0, 0.0, x), mask=at < n)


def relu(x, y):
    relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.x = x
            relu(x, torch.empty_like(x))
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = torch.empty_like(x)
                relu(self.x, self.y)
        self.graph.replay()
        return self.y
