"""Computes under inference_mode.

Task: assay/relu
Trick: inference tensors refuse some operations
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    @torch.inference_mode()
    def forward(self, x):
        return torch.relu(x)
