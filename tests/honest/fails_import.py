"""Imports a package that is not there.

Task: assay/relu
Trick: fails when it is loaded
Device: any
Expect: runtime_error
Error: exception ModuleNotFoundError
Run: check
"""

import torch
import no_such_package_at_all


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
