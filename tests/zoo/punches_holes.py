"""Takes the pages of the arena and the control page away.

Task: assay/relu
Trick: pages that vanish might crash judge or worker
Source: own invention, against the shared arena
Device: cpu
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_relu
"""

import ctypes

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        libc = ctypes.CDLL(None)
        MADV_REMOVE = 9
        for line in open("/proc/self/maps"):
            if "assay-" in line:
                begin, end = (int(text, 16) for text in line.split()[0].split("-"))
                libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), MADV_REMOVE)
        return torch.relu(x)
