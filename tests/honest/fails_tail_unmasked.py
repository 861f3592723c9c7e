"""A block size that does not divide the size, and no tail.

Task: assay/relu
Trick: a beginner's mistake: the feedback must say where
Device: any
Expect: incorrect
Error: mismatch values
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        flat, out = x.view(-1), y.view(-1)
        n = flat.numel() // 1000 * 1000
        out[:n] = torch.relu(flat[:n])
        return y
