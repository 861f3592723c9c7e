"""Leaves System V and POSIX objects, abstract sockets and shared memory for the next candidate.

Judged twice, as the others' neighbour and alone: it must never find anything of another run.

Task: assay/relu
Trick: the pool's next candidate shares the kernel's objects
Source: own invention, against the warm pool's successor
Device: any
Expect: correct
Twin: twin_relu
"""

import ctypes
import os
import socket

import torch

LIBC = ctypes.CDLL(None, use_errno=True)
KEY = 0x41535341
identity = LIBC.shmget(KEY, 4096, 0)
if identity >= 0:
    raise RuntimeError("found shared memory of another candidate")
LIBC.shmget(KEY, 4096, 0o1666)
LIBC.msgget(KEY, 0o1666)
LIBC.semget(KEY, 1, 0o1666)
probe = socket.socket(socket.AF_UNIX)
try:
    probe.connect("\0assay-zoo-neighbour")
    raise RuntimeError("found a socket of another candidate")
except OSError:
    pass
KEPT = socket.socket(socket.AF_UNIX)
KEPT.bind("\0assay-zoo-neighbour")
KEPT.listen(1)
for path in ("/dev/shm/assay-zoo", "/dev/mqueue/assay-zoo"):
    if os.path.exists(path):
        raise RuntimeError("found " + path)
    try:
        open(path, "w").close()
    except OSError:
        pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
