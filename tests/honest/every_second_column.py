"""Returns every second column of a buffer.

Task: assay/relu
Trick: inner stride of two
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.zeros(x.shape[0], 2 * x.shape[1], device=x.device)
        y[:, ::2] = torch.relu(x)
        return y[:, ::2]
