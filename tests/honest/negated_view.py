"""Returns a tensor with torch's lazy negative bit.

Task: assay/relu
Trick: a plain tensor whose memory holds the opposite sign
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch._neg_view(-torch.relu(x))
