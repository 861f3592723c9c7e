"""Takes device memory without an end.

status: out_of_memory
error: device_memory
device: cuda
destructive: yes
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        kept = []
        while True:
            kept.append(torch.empty(1 << 32, dtype=torch.uint8, device="cuda"))  # <- the line
