"""Returns the two results in a tuple of its own making.

Task: assay/minmax_rows
Trick: more than one output
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        low = torch.min(x, dim=1)
        high = torch.max(x, dim=1)
        return tuple([low.values, high.values])
