"""Takes host memory in many children, each of them modest.

status: out_of_memory
error: host_memory
run: memory
destructive: yes
"""

import os
import time

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for _ in range(16):
            if os.fork() == 0:
                block = bytearray(os.urandom(1 << 20) * 192)
                time.sleep(600)
                os._exit(len(block) & 1)
        time.sleep(600)
