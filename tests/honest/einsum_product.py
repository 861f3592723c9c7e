"""A matrix product by einsum.

Task: assay/matmul_square
Trick: a library call under another name
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.einsum("ik,kj->ij", a, b)
