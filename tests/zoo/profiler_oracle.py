"""Works only when a profiler looks.

Task: assay/relu
Trick: profiled and checked runs differ
Source: KernelGYM 7.2 number 17
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if torch.autograd._profiler_enabled():
            return torch.relu(x)
        return torch.empty_like(x)
