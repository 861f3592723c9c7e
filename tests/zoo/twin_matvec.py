"""The honest twin of the matrix-vector submissions: torch's own operator.

Task: assay/matvec
Trick: none; what the others are measured against
Source: control
Device: any
Expect: correct
MaxSpeedup: 1.5
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, x):
        return torch.mv(a, x)
