"""The class has another name.

status: invalid_submission
says: ModelNew
"""

import torch


class Model2(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
