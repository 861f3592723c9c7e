"""Ends the process with success in its first call.

Task: assay/relu
Trick: exit code 0 reads as success
Source: KernelGYM 7.2 numbers 4 and 35
Device: any
Expect: runtime_error
Error: crash exit
Run: check
"""

import os

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        os._exit(0)
