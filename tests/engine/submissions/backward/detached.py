"""Right values without a graph behind them: nothing to go back through.

status: runtime_error
says: no output has a gradient
task: rms_backward
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dim))

    @torch.no_grad()
    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight
