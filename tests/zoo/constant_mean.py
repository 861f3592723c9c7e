"""Returns the mean of a softmax row, 1/n, everywhere.

Task: assay/softmax_rows
Trick: the best constant
Source: null models of task screens
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.full_like(x, 1.0 / x.shape[1])
