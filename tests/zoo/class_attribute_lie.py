"""An object whose __class__ says torch.Tensor.

Task: assay/relu
Trick: isinstance() believes __class__
Source: KernelBench 8.1 T3
Device: any
Expect: incorrect|runtime_error
Run: check
"""

import torch

class Pretender:
    __class__ = torch.Tensor
    shape = property(lambda self: torch.Size((256, 1024)))
    dtype = torch.float32
    device = torch.device("cpu")

    def data_ptr(self):
        return 0

    def numel(self):
        return 0


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Pretender()
