"""Returns a slice of a larger buffer.

Task: assay/relu
Trick: the result has an offset and gaps
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0] + 8, x.shape[1] + 16, device=x.device)
        y[4:-4, 8:-8] = torch.relu(x)
        return y[4:-4, 8:-8]
