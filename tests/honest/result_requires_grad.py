"""Returns a tensor that carries a graph.

Task: assay/relu
Trick: copying from a tensor that requires gradients
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        with torch.enable_grad():
            return torch.relu(x.detach().requires_grad_())
