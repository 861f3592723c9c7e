"""Looks for other submissions (each carries a mark) and for other processes at all.

status: correct
outside: finds
"""

import os
import re

import torch

MARK = re.compile(rb"ASSA[Y]-NEIGHBOU[R]-[0-9a-f]{16}")
MINE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = os.environ.get("PROBE_FOLDERS", "/work /tmp /var/tmp /dev/shm /run /home /root").split()


def look():
    found = []
    for top in FOLDERS:
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if not os.path.ismount(os.path.join(folder, name))]
            if folder.startswith(MINE):
                continue
            for name in files:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        if MARK.search(file.read(1 << 20)):
                            found.append(os.path.join(folder, name))
                except OSError:
                    pass
    mine = {os.getpid(), os.getppid()}
    others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in mine]
    if others:
        found.append(f"processes {others}")
    return found


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        if found := look():
            raise RuntimeError(f"FOUND {found}")

    def forward(self, x):
        return torch.relu(x)
