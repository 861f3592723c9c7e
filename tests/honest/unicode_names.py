"""Identifiers and comments in other scripts.

Task: assay/relu
Trick: source that is not ASCII
Device: any
Expect: correct
"""

import torch

σ_нижняя = 0.0  # нижняя граница


class 活性化(torch.nn.Module):
    def forward(self, вход):
        return torch.clamp_min(вход, σ_нижняя)


class ModelNew(活性化):
    """ReLU: max(x, 0) für jedes Element — 每个元素."""
