"""Uses a workspace of two hundred megabytes.

Task: assay/relu
Trick: memory that is large but allowed
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        space = torch.empty(50 << 20, device=x.device)
        y = space[: x.numel()].view(x.shape)
        return torch.clamp_min(x, 0, out=y).clone()
