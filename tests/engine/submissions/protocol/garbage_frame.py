"""Sends a message that is not JSON.

status: rejected_cheat
error: integrity protocol
destructive: yes
"""

import os

import torch

for name in os.listdir("/proc/self/fd"):
    try:
        if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
            os.write(int(name), b"\x10\x00\x00\x00" + bytes(range(240, 256)))
    except OSError:
        pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
