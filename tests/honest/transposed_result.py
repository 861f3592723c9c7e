"""Returns a transposed view: right shape, other strides.

Task: assay/relu
Trick: comparing raw memory would be wrong
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x.t().contiguous()).t()
