"""The module itself does not import.

status: runtime_error
error: exception ModuleNotFoundError
stage: load
says: there_is_no_such_module
"""

import torch

import there_is_no_such_module  # <- the line


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
