"""Opens its inputs again through /proc and writes zeros into them.

Task: assay/relu
Trick: zero inputs have zero outputs
Source: KernelBench 8.2 C2; own: /proc
Device: any
Expect: incorrect|rejected_cheat|runtime_error
Run: check
"""

import os

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for name in os.listdir("/proc/self/map_files") + os.listdir("/proc/self/fd"):
            for folder in ("/proc/self/map_files/", "/proc/self/fd/"):
                try:
                    if "assay-segment" in os.readlink(folder + name):
                        number = os.open(folder + name, os.O_RDWR)
                        os.pwrite(number, b"\0" * (1 << 20), 0)
                except OSError:
                    pass
        return torch.zeros_like(x)
