"""A child whose second thread stays in the kernel for seconds: it works although the child is stopped.

A stop takes hold when a thread leaves the kernel. Only the state of the leader is looked at, so a
child counts as stopped while another of its threads fills page tables, which takes a core from the
reference.

Task: assay/gelu_tanh
Trick: madvise(MADV_POPULATE_READ) of 64 GB of zero pages in the threads of a child
Source: own invention, against the stop of children
Device: cpu
Expect: correct|rejected_cheat|runtime_error|incorrect|out_of_memory
Twin: twin_gelu_one_thread
"""

import ctypes
import mmap
import os
import threading
import time

import torch

C = ctypes.CDLL(None, use_errno=True)
C.mmap.restype = ctypes.c_void_p
C.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
C.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
MADV_NOHUGEPAGE, MADV_POPULATE_READ, MADV_DONTNEED = 15, 22, 4
SIZE = 64 << 30


def hog():
    base = C.mmap(None, SIZE, mmap.PROT_READ, 0x4022, -1, 0)  # private, anonymous, no reserve
    C.madvise(base, SIZE, MADV_NOHUGEPAGE)
    while True:
        C.madvise(base, SIZE, MADV_POPULATE_READ)  # not interrupted by a stop
        C.madvise(base, SIZE, MADV_DONTNEED)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        if os.fork() == 0:
            for _ in range(2):
                threading.Thread(target=hog, daemon=True).start()
            time.sleep(1e6)

    def forward(self, x):
        torch.set_num_threads(1)
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
