"""A parenthesis too few.

status: invalid_submission
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x  # <- the line
