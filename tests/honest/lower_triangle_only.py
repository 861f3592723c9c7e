"""Computes only the blocks of the lower triangle.

Task: assay/gram_lower
Trick: half of the dense work
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0]
        y = torch.zeros(n, n, device=x.device)
        for i in range(0, n, 128):
            y[i : i + 128, : i + 128] = x[i : i + 128] @ x[: i + 128].t()
        return y.tril_()
