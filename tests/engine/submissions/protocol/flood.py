"""Writes replies without an end from a thread, faster than they can be read.

status: incorrect|rejected_cheat|runtime_error|timeout
run: deadline
destructive: yes
"""

import os
import threading

import torch

SOCKETS = []
for name in os.listdir("/proc/self/fd"):
    try:
        if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
            SOCKETS.append(int(name))
    except OSError:
        pass


def flood():
    frame = b'\x0c\x00\x00\x00{"ok": true}' * 1000
    while True:
        for fd in SOCKETS:
            os.write(fd, frame)


threading.Thread(target=flood, daemon=True).start()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
