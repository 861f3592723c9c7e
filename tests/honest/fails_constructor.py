"""Its constructor takes other arguments than the task gives.

Task: assay/linear_gelu
Trick: compiled, but cannot be built
Device: any
Expect: runtime_error
Error: exception TypeError
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(features, features)

    def forward(self, x):
        return self.linear(x)
