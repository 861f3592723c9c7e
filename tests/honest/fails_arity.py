"""forward takes more arguments than the task gives.

Task: assay/relu
Trick: known before anything runs
Device: any
Expect: invalid_submission
Error: lint_invalid S1.arity
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return torch.relu(x) + y
