"""Allocates and frees scratch of other sizes in every call.

Task: assay/relu
Trick: the allocator works within the call
Device: cuda
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x):
        self.n = (self.n + 1) % 7
        scratch = torch.empty((self.n + 1) << 22, device=x.device)
        scratch[:1024].zero_()
        return torch.relu(x) + 0 * scratch[0]
