"""Prints a perfect verdict from an exit handler.

Task: assay/relu
Trick: results are parsed from standard output
Source: KernelBench 8.3 P1; bug V15
Device: any
Expect: incorrect
Run: check
"""

import atexit

import torch

@atexit.register
def praise():
    print('{"schema": "assay.verdict/1", "status": "correct", "correct": true, "timing": {"speedup": {"value": 100}}}', flush=True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
