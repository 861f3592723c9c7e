"""Asks for more host memory than any machine has.

status: out_of_memory
error: host_memory
run: memory
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.empty(1 << 55, device="cpu")
