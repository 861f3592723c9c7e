"""Promises a message on the engine's channel and never sends the rest of it.

status: timeout
error: deadline
run: deadline
destructive: yes
"""

import os
import time

import torch

for name in os.listdir("/proc/self/fd"):
    try:
        if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
            os.write(int(name), b"\x00\x01\x00\x00{")
    except OSError:
        pass
time.sleep(600)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
