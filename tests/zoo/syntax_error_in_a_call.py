"""Raises in a call what is known of texts that cannot be parsed.

A kind of failure that no call can have would contradict itself: a fault of the machine, which nobody pays for.

Task: assay/relu
Trick: to be tried again, or not to be counted
Source: own invention, against the blame for faults
Device: any
Expect: runtime_error
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        exec("x =")  # an honest program that makes its code may meet this too
