"""A child program keeps the device busy from a context of its own.

The child is stopped while rounds are timed, but what it has queued on the device is not.

Task: assay/relu
Trick: the reference shares the device with queued work
Source: KernelGYM 7.2 numbers 22 and 23
Device: cuda
Expect: correct|rejected_cheat|runtime_error
Twin: twin_relu
Slow: yes
"""

import os
import subprocess
import sys
import time

import torch

PROGRAM = '''
import torch
x = torch.randn(4096, 4096, device="cuda")
while True:
    for _ in range(200):
        x @ x
    torch.cuda.synchronize()
'''


class ModelNew(torch.nn.Module):
    child = None

    def __init__(self):
        super().__init__()
        if ModelNew.child is None:
            ModelNew.child = subprocess.Popen([sys.executable, "-c", PROGRAM], env={**os.environ, "PYTHONNOUSERSITE": "1"})
            time.sleep(6)

    def forward(self, x):
        return torch.relu(x)
