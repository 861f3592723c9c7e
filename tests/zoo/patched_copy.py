"""Makes Tensor.copy_ a no-op.

Task: assay/relu
Trick: results cost no copying
Source: own invention, against the arena
Device: any
Expect: incorrect
Run: check
"""

import torch

torch.Tensor.copy_ = lambda self, *arguments, **keywords: self
torch._foreach_copy_ = lambda *arguments, **keywords: None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
