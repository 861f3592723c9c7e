"""Right in its first 12 calls, wrong later: timed outputs are verified too.

status: incorrect
error: mismatch timed_output
run: timed
stage: time
flags: timed_output_wrong
"""

import torch

calls = 0


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global calls
        calls += 1
        return torch.relu(x) if calls <= 12 else torch.zeros_like(x)
