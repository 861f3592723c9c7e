"""Leaves child processes, one of them orphaned, that load the cores for ever.

Task: assay/gelu_tanh
Trick: a double fork leaves the process group and the parent
Source: KernelGYM 7.2 number 23
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error
Twin: twin_gelu
"""

import os

import torch


def hog():
    os.closerange(3, 1024)
    os.setsid()
    while True:
        pass


class ModelNew(torch.nn.Module):
    started = False

    def __init__(self):
        super().__init__()
        if not ModelNew.started:
            ModelNew.started = True
            for _ in range(2):
                if os.fork() == 0:
                    if os.fork() == 0:
                        hog()
                    os._exit(0)
            if os.fork() == 0:
                hog()

    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
