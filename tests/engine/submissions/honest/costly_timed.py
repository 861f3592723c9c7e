"""The costly task by the reference's own code: the yardstick for submissions that lie about time.

status: correct
task: costly
run: timed
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for _ in range(4):
            x = torch.tanh(x) + x
        return x
