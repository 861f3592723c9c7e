"""Starts threads without an end.

status: runtime_error
error: exception RuntimeError
run: deadline
destructive: yes
"""

import threading
import time

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        while True:
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()  # <- the line
