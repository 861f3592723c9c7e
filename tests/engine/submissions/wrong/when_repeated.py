"""Right for inputs that it sees for the first time, wrong when they come again: as a race may be.

status: incorrect
error: mismatch values
says: called again on the same inputs
flags: nondeterministic
"""

import torch

seen = set()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        key = x.double().sum().item()
        if key in seen:
            y[-1] += 1
        seen.add(key)
        return y
