"""Returns an empty sparse tensor of the right shape and dtype.

Task: assay/relu
Trick: shape, dtype, device and type are right; the layout is not looked at
Source: own invention, against the contract of outputs
Device: any
Expect: incorrect|runtime_error
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.sparse_coo_tensor(x.shape, dtype=x.dtype, device=x.device)
