"""A child process that lives on computes between the rounds on shared memory: it is stopped there.

status: correct|incorrect|rejected_cheat|runtime_error
run: timed
destructive: yes
"""

import os
import time

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        if os.fork() == 0:
            os.closerange(3, 1024)
            while True:
                time.sleep(0.01)

    def forward(self, x):
        return torch.relu(x)
