"""A timer raises exceptions in whatever Python code runs, the loop of rounds included.

Task: assay/relu
Trick: a round that is interrupted after its marks ends early
Source: own invention, against the loop of rounds
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_relu
"""

import signal

import torch

def interrupt(number, frame):
    if frame is not None and frame.f_code.co_name in ("_take", "_synchronize", "serve"):
        raise KeyboardInterrupt


class ModelNew(torch.nn.Module):
    def forward(self, x):
        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
        return torch.relu(x)
