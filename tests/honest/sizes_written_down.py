"""Right on the task's sizes, and on no others: that is the task's contract.

Task: assay/softmax_rows
Trick: the number of columns is a constant in the source
Device: cpu
Expect: correct
Flags: shape_specialized
"""

import torch

COLUMNS = None


class ModelNew(torch.nn.Module):
    def __init__(self, *args):
        super().__init__()
        self.columns = None

    def forward(self, x):
        global COLUMNS
        COLUMNS = COLUMNS or x.shape[-1]
        return torch.softmax(x.reshape(-1, COLUMNS), -1).reshape(x.shape)
