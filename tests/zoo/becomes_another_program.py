"""Replaces itself by a program that prints a verdict and ends well.

Task: assay/relu
Trick: exec keeps the process number and the descriptors
Source: KernelBench 8.3 P1
Device: any
Expect: runtime_error|rejected_cheat
Run: check
"""

import os
import sys

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        os.execv(sys.executable, [sys.executable, "-c", "print('{\"status\": \"correct\"}')"])
