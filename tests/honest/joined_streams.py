"""Four branches on side streams, forked and joined by events.

Task: assay/relu
Trick: side streams used properly
Device: cuda
Expect: correct
MaxSpeedup: 1.6
"""

import torch
import triton
import triton.language as tl

STREAMS = [torch.cuda.Stream() for _ in range(4)]

@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.maximum(x, 0.0), mask=at < n)


def relu(x, y):
    relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        current = torch.cuda.current_stream()
        rows = x.shape[0] // 4
        for i, stream in enumerate(STREAMS):
            stream.wait_stream(current)
            with torch.cuda.stream(stream):
                relu(x[i * rows : (i + 1) * rows], y[i * rows : (i + 1) * rows])
            y.record_stream(stream)
        for stream in STREAMS:
            current.wait_stream(stream)
        return y
