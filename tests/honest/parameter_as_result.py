"""Returns a Parameter.

Task: assay/relu
Trick: a Parameter is a subclass of Tensor
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.nn.Parameter(torch.relu(x), requires_grad=False)
