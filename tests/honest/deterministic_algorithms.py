"""Asks torch for deterministic algorithms, which also fill fresh memory with NaN.

Task: assay/relu
Trick: the switch changes how the process that judges it copies and fills
Device: any
Expect: correct
Flags: global_deterministic
"""

import torch

torch.use_deterministic_algorithms(True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        torch.clamp_min(x, 0, out=y)
        return y
