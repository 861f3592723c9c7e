"""A loop without an end.

status: timeout
error: deadline
run: deadline
destructive: yes
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        while True:
            pass
