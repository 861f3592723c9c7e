"""Tries to read the host's files: one that the test has made, password hashes, homes, and folders
above its own root.

status: correct
outside: finds
"""

import os

import torch

FILES = ["@HOST_FILE@", "/etc/shadow", "/etc/ssh/sshd_config", "/root/.bashrc", "/proc/1/root@HOST_FILE@",
         "../../../../../../../..@HOST_FILE@"]


def look():
    found = []
    for path in FILES:
        try:
            with open(path, "rb") as file:
                if file.read(1):
                    found.append(path)
        except OSError:
            pass
    try:
        found += os.listdir(os.path.dirname("@HOST_FILE@"))
    except OSError:
        pass
    return found


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        if found := look():
            raise RuntimeError(f"FOUND {found}")

    def forward(self, x):
        return torch.relu(x)
