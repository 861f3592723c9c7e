"""A loop without an end while the module is imported, deaf to every signal that can be caught.

status: timeout
error: deadline
stage: load
run: deadline
destructive: yes
"""

import signal

import torch

for number in range(1, 32):
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_IGN)
while True:
    pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
