"""Asserts shapes and layouts before it works.

Task: assay/relu
Trick: inputs are contiguous and aligned as fresh tensors are
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        assert x.is_contiguous() and x.dim() == 2 and x.dtype == torch.float32
        assert x.data_ptr() % 16 == 0
        return torch.relu(x)
