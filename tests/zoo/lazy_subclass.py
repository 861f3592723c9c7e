"""Returns a tensor subclass that computes when it is looked at.

Task: assay/relu
Trick: the work is done in the checker, untimed
Source: KernelBench 9 A6; KernelGYM 7.2 number 20
Device: any
Expect: incorrect
Error: mismatch type
"""

import torch

class Lazy(torch.Tensor):
    @staticmethod
    def _make(x):
        result = torch.Tensor._make_wrapper_subclass(Lazy, x.shape, dtype=x.dtype, device=x.device)
        result.source = x
        return result

    @classmethod
    def __torch_dispatch__(cls, function, kinds, arguments=(), keywords=None):
        real = [torch.relu(a.source) if isinstance(a, Lazy) else a for a in arguments]
        return function(*real, **(keywords or {}))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Lazy._make(x)
