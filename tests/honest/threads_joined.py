"""Splits the work over two threads and joins them in the call.

Task: assay/relu
Trick: threads that end within the call
Device: cpu
Expect: correct
"""

from concurrent.futures import ThreadPoolExecutor

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        half = x.shape[0] // 2


        def work(a, b):
            torch.clamp_min(x[a:b], 0, out=y[a:b])


        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, (0, half), (half, x.shape[0])))
        return y
