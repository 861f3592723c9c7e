"""Claims times that are negative, endless, text and lists.

status: correct
task: costly
run: timed
not_faster_than: costly_timed
destructive: yes
"""

import sys

import torch

NONSENSE = [-1e300, 1e308, 0, "fast", None, [[]], 2**70, {"median": 0}]
rounds = sys.modules["assay.runtime.rounds"]
rounds.Marks.read = lambda marks: ((NONSENSE * 200)[: marks.calls * 3], "fast")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for _ in range(4):
            x = torch.tanh(x) + x
        return x
