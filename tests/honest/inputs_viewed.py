"""Reshapes views of its inputs inside and returns fresh memory.

Task: assay/relu
Trick: views of inputs are not aliases of outputs
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x.view(-1, 4)).view(x.shape)
