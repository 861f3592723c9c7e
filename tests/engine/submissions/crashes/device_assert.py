"""An index that is out of range: an assertion fails on the device.

status: runtime_error
error: device_fault|crash
device: cuda
destructive: yes
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)[torch.full((1061,), 1 << 20, device=x.device)]
