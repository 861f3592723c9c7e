"""Takes two seconds to load.

Task: assay/relu
Trick: loading is not timed
Device: any
Expect: correct
Run: check
"""

import time

import torch

time.sleep(2)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
