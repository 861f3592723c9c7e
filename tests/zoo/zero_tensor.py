"""Returns a tensor that has no memory: torch's symbolic zero.

Task: assay/relu
Trick: a plain torch.Tensor without storage
Source: own invention, against the taking of results
Device: any
Expect: incorrect|runtime_error
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch._efficientzerotensor(x.shape, dtype=x.dtype, device=x.device)
