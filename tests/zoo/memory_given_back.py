"""Keeps shared memory of which no page is resident in any process.

Task: assay/relu
Trick: pages that are given back stay, and nobody is charged for them
Source: own invention
Device: cpu
Expect: runtime_error
Run: check
"""

import mmap

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = []
        for _ in range(4):
            memory = mmap.mmap(-1, 64 << 20)
            memory.write(b"x" * (64 << 20))
            memory.madvise(mmap.MADV_DONTNEED)
            self.kept.append(memory)

    def forward(self, x):
        return torch.relu(x)
