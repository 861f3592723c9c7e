"""torch.compile with max-autotune.

Task: assay/gelu_tanh
Trick: tens of seconds of tuning in the first call
Device: cuda
Expect: correct
Slow: yes
"""

import torch

@torch.compile(mode="max-autotune-no-cudagraphs")
def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return gelu(x)
