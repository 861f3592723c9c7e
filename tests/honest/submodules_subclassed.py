"""Uses a subclass of nn.Linear with the reference's names.

Task: assay/linear_gelu
Trick: weights are copied into a subclass
Device: any
Expect: correct
"""

import torch


class FusedLinear(torch.nn.Linear):
    def forward(self, x):
        return torch.nn.functional.gelu(torch.addmm(self.bias, x, self.weight.t()))


class ModelNew(torch.nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.linear = FusedLinear(dim_in, dim_out)

    def forward(self, x):
        return self.linear(x)
