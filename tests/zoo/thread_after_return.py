"""Returns an empty buffer that a thread fills afterwards.

Task: assay/gelu_tanh
Trick: the clock stops when the call returns
Source: KernelBench 8.1 T2; KernelGYM 7.2 number 21
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error
Twin: twin_gelu
"""

import threading

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        threading.Thread(target=lambda: y.copy_(0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))), daemon=True).start()
        return y
