"""A child whose first thread has ended while another one works on.

The leader's state is Z, which looks like the end of the process.

Task: assay/gelu_tanh
Trick: the leader of a child leaves by the exit system call, its second thread spins through the
  reference's rounds
Source: own invention, against the stop of children
Device: cpu
Expect: correct|rejected_cheat|runtime_error|incorrect
Twin: twin_gelu_one_thread
"""

import ctypes
import os
import threading

import torch

C = ctypes.CDLL(None)


def hog():
    while True:
        pass


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        if os.fork() == 0:
            threading.Thread(target=hog, daemon=True).start()
            C.syscall(60, 0)  # exit, of this thread alone: the process is a zombie that runs

    def forward(self, x):
        torch.set_num_threads(1)
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
