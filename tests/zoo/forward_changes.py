"""`forward` is a property that gives another function on each look.

Task: assay/relu
Trick: what is inspected is not what is called
Source: own invention
Device: any
Expect: incorrect|rejected_cheat|runtime_error
"""

import torch


class ModelNew(torch.nn.Module):
    looks = 0

    @property
    def forward(self):
        ModelNew.looks += 1
        if ModelNew.looks % 2:
            return torch.relu
        return torch.empty_like
