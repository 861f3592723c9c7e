"""Asks for more device memory than there is.

Task: assay/relu
Trick: named as memory, not as a crash
Device: cuda
Expect: out_of_memory
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        space = torch.empty(1 << 50, dtype=torch.uint8, device=x.device)
        return torch.relu(x) + space[0]
