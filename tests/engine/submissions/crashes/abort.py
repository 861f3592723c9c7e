"""abort(), as a failed C++ assertion would.

status: runtime_error
error: crash
destructive: yes
"""

import os

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        os.abort()
