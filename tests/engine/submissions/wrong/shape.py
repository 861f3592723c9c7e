"""One element too few.

status: incorrect
error: mismatch shape
says: \(1060,\).*\(1061,\)
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)[:-1]
