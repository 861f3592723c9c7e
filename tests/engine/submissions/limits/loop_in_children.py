"""Two children that never end hold on to everything while the parent waits for them.

status: timeout
error: deadline
run: deadline
destructive: yes
"""

import os

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for _ in range(2):
            if os.fork() == 0:
                os.setsid()
                while True:
                    pass
        os.wait()
