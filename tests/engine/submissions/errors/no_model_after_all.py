"""Lint cannot tell that there is no ModelNew; the import can.

status: invalid_submission
says: ModelNew
"""

import torch

globals()["Model" + "Old"] = torch.nn.ReLU
