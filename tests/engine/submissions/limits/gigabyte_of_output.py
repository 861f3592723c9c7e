"""Writes a gigabyte to standard output and another to standard error; its result is right.

status: correct
destructive: yes
"""

import os

import torch

LINE = b"correct 1.0x \x1b[32m\n" * (1 << 16)
for _ in range((1 << 30) // len(LINE)):
    os.write(1, LINE)
    os.write(2, LINE)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
