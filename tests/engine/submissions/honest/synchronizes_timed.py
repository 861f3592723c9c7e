"""Waits for the device in the middle of a call: the gate opens, although not all calls are queued.

status: correct
device: cuda
task: costly
run: timed
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for _ in range(4):
            x = torch.tanh(x) + x
            torch.cuda.synchronize()
        return x
