"""The honest twin of ReLU submissions that use one thread.

On a busy machine one thread may be faster than two that wait for each other.

Task: assay/relu
Trick: none; what the others are measured against
Source: control
Device: any
Expect: correct
MaxSpeedup: 100
"""

import torch

torch.set_num_threads(1)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
