"""The honest twin of submissions that use one thread: the reference's own formula.

On a busy machine one thread may be faster than two that wait for each other.

Task: assay/gelu_tanh
Trick: none; what the others are measured against
Source: control
Device: any
Expect: correct
MaxSpeedup: 100
"""

import torch

torch.set_num_threads(1)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
