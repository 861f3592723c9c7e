"""Maps every descriptor that it was given, writable.

Task: assay/relu
Trick: the arena's descriptors might still be open
Source: own invention, against the table of descriptors
Device: any
Expect: incorrect|rejected_cheat|runtime_error
Run: check
"""

import mmap
import os

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for number in list(range(3, 64)):
            try:
                size = os.fstat(number).st_size
                if size >= 1 << 16:
                    memory = mmap.mmap(number, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
                    memory[: size // 2] = b"\0" * (size // 2)
            except (OSError, ValueError):
                pass
        return torch.zeros_like(x)
