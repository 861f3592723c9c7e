"""Every process forks without an end.

status: runtime_error|timeout|out_of_memory
error: exception BlockingIOError|crash|deadline|host_memory
run: deadline
destructive: yes
"""

import os

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        while True:
            os.fork()
