"""Sums rows as a tree instead of a line.

Task: assay/sum_rows
Trick: another order of summation
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        x = torch.nn.functional.pad(x, (0, 2048 * ((columns + 2047) // 2048) - columns))
        while x.shape[1] > 1:
            x = torch.nn.functional.pad(x, (0, x.shape[1] % 2))
            x = x[:, ::2] + x[:, 1::2]
        return x[:, 0]
