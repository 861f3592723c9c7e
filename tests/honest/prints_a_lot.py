"""Prints a thousand lines in every call, some of them JSON verdicts.

Task: assay/relu
Trick: output must neither block nor be parsed
Device: any
Expect: correct
Run: check
"""

import sys

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for i in range(1000):
            print(f"step {i}", '{"status": "incorrect"}')
        print("\x1b[31mred\x1b[0m", file=sys.stderr)
        return torch.relu(x)
