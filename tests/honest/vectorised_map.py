"""Maps a function over rows with torch.func.vmap.

Task: assay/softmax_rows
Trick: wrappers inside, a plain tensor outside
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.func.vmap(lambda row: torch.softmax(row, dim=0))(x)
