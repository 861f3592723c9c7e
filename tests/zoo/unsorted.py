"""Returns the rows as they are; sums and norms are right.

Task: assay/sort_rows
Trick: a comparison of sums or of multisets does not see the order
Source: bug family V
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clone()
