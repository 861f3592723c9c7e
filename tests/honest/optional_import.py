"""try/except around an optional import only.

Task: assay/relu
Trick: looks like a silent fallback
Device: any
Expect: correct
"""

import torch

try:
    import no_such_accelerator
except ImportError:
    no_such_accelerator = None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
