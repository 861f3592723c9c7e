"""A thread goes on writing to the result after it was returned.

Whether the spoilt elements are taken is a race, but what was taken does not change any more.

Task: assay/relu
Trick: a result that changes after it was returned
Source: KernelBench 8.1 T6
Device: any
Expect: correct|incorrect
Twin: twin_relu
"""

import threading
import time

import torch

LATEST, STARTED = [], []


def spoil():
    while True:
        for y in list(LATEST):
            y.view(-1)[:8] = 7.0
        time.sleep(1e-4)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        LATEST.append(y)
        del LATEST[:-4]
        if not STARTED:
            STARTED.append(threading.Thread(target=spoil, daemon=True))
            STARTED[0].start()
        return y
