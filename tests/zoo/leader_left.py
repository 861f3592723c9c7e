"""Lets its first thread end and goes on in another one.

Task: assay/relu
Trick: a process whose first thread has left has no memory that others could read, which must not look
  like a failure of the machine
Source: own invention, against results that are read out of the process
Device: cpu
Expect: rejected_cheat|runtime_error|timeout
"""

import ctypes
import sys
import threading

import torch

EXIT = 60  # of one thread, on x86-64
rounds = sys.modules["assay.runtime.rounds"]
honest = rounds.Rounds.serve


def serve(self, model):
    if self.memory is None:
        return honest(self, model)
    threading.Thread(target=honest, args=(self, model)).start()
    ctypes.CDLL(None).syscall(EXIT, 0)


rounds.Rounds.serve = serve


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
