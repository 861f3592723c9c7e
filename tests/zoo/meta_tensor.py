"""Returns a tensor on the meta device.

Task: assay/relu
Trick: right in shape and type, without any content
Source: own invention, against the taking of results
Device: any
Expect: incorrect
Error: mismatch device
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.empty_like(x, device='meta')
