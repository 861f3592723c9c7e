"""Shared memory of which no page is resident in any process.

status: out_of_memory
error: host_memory
run: memory
destructive: yes
"""

import mmap
import time

import torch

PIECE = 64 << 20
PIECES = 60


class ModelNew(torch.nn.Module):
    def forward(self, x):
        kept = []
        for _ in range(PIECES):
            memory = mmap.mmap(-1, PIECE)
            memory.write(b"x" * PIECE)
            memory.madvise(mmap.MADV_DONTNEED)
            kept.append(memory)
        time.sleep(600)
