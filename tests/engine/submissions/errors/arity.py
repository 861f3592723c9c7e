"""forward wants two inputs where the reference takes one.

status: invalid_submission
says: 2 inputs|requires
known: Prepare() returns LintSource(), which lints anew without the arity: infra_error
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):  # <- the line
        return torch.relu(x) + y
