"""A neighbour: carries a mark, and leaves it in files and shared memory for others to find.

status: correct
"""

import os

import torch

MARK = "@NEIGHBOUR@"
for folder in ("/tmp", "/dev/shm", "/var/tmp", "/work", "."):
    for name in ("mark", "mark.txt", "submission.py"):
        try:
            with open(os.path.join(folder, name), "w") as file:
                file.write(MARK)
        except OSError:
            pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
