"""torch.compile inside the submission.

Task: assay/gelu_tanh
Trick: a compiler makes the kernel
Device: any
Expect: correct
Needs: g++
Slow: yes
"""

import torch

@torch.compile
def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return gelu(x)
