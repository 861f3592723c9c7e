"""Returns a functorch wrapper, which is a plain torch.Tensor to Python.

Task: assay/relu
Trick: exact type check passes, the storage is another's
Source: own invention, against the exact type check
Device: any
Expect: incorrect|runtime_error|timeout
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch._C._functorch._add_batch_dim(torch.zeros_like(x).expand(3, *x.shape), 0, 1)
