"""sys.exit is an exception like any other.

status: runtime_error
error: exception SystemExit
destructive: yes
"""

import sys

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        sys.exit(0)  # <- the line
