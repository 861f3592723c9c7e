"""A syntax error.

Task: assay/relu
Trick: cannot be parsed; the line is named
Device: any
Expect: invalid_submission
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x)
        return torch.relu(x)
