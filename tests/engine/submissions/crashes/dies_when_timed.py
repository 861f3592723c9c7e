"""Right in its first 12 calls; then the process dies, inside a timing.

status: runtime_error
error: crash
run: timed
stage: time
destructive: yes
"""

import os

import torch

calls = 0


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global calls
        calls += 1
        if calls > 12:
            os._exit(0)
        return torch.relu(x)
