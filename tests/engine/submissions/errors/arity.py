"""forward wants two inputs where the reference takes one.

status: invalid_submission
says: 2 inputs|requires
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):  # <- the line
        return torch.relu(x) + y
