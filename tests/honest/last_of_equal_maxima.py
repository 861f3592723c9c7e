"""Takes the last of several largest elements, where the reference takes the first.

Task: assay/argmax_middle
Trick: another index that points at the same value; on rounded inputs there are many
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.shape[1] - 1 - x.flip(1).argmax(dim=1)
