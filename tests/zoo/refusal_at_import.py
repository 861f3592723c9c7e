"""Refuses itself at import, in the runtime's own words, for something that only a call can do.

Task: assay/relu
Trick: to be tried again, or not to be counted
Source: own invention, against the blame for faults
Device: any
Expect: runtime_error
Run: check
"""

import torch
from assay.runtime import rounds

raise rounds.Refused("mismatch", "values", "an output is wrong")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
