"""The honest twin of the ReLU submissions: torch's own operator.

Task: assay/relu
Trick: none; what the others are measured against
Source: control
Device: any
Expect: correct
MaxSpeedup: 1.5
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
