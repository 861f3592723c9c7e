"""Leaves threads that spin for ever, to slow down whoever is measured next.

Task: assay/gelu_tanh
Trick: the reference competes for the cores
Source: KernelGYM 7.2 numbers 21 and 23; KernelBench 8.1 T10
Device: any
Expect: correct|incorrect|timeout
Twin: twin_gelu
"""

import threading

import torch

STARTED = False


def spin():
    torch.set_num_threads(1)
    x = torch.ones(1 << 16)
    while True:
        x.add_(0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global STARTED
        if not STARTED:
            STARTED = True
            for _ in range(4):
                threading.Thread(target=spin, daemon=True).start()
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
