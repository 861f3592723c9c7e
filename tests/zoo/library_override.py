"""Overrides torch's dispatcher: tanh is cheap, copying does nothing.

Task: assay/gelu_tanh
Trick: operators that a reference in the same process would share
Source: KernelGYM 7.2 number 31; KernelBench 9 A16
Device: any
Expect: incorrect|runtime_error
Run: check
"""

import torch

LIBRARY = torch.library.Library("aten", "IMPL")
LIBRARY.impl("tanh", lambda x: x.clamp(-1, 1), "CPU")
if torch.cuda.is_available():
    LIBRARY.impl("tanh", lambda x: x.clamp(-1, 1), "CUDA")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
