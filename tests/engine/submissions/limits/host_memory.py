"""Takes host memory without an end.

status: out_of_memory
error: host_memory
run: memory
destructive: yes
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        kept = []
        while True:
            kept.append(torch.ones(1 << 25))
