"""Opens the device file of every card of the machine: there must be one, its own.

status: correct
device: cuda
"""

import os
import re

import torch


def look():
    found = []
    for number in range(64):
        try:
            os.close(os.open(f"/dev/nvidia{number}", os.O_RDWR))
            found.append(number)
        except OSError:
            pass
    listed = [name for name in os.listdir("/dev") if re.fullmatch(r"nvidia\d+", name)]
    return [] if len(found) == len(listed) == 1 else [found, listed]


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        if found := look():
            raise RuntimeError(f"FOUND {found}")

    def forward(self, x):
        return torch.relu(x)
