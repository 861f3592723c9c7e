"""Each instance computes once and returns that result ever after.

Every trial has a fresh instance, and an instance is asked about one content only: the first trial's second
call is on the same inputs. So without timed rounds nothing finds that other inputs get the old answer.

Task: assay/relu
Trick: one content for each instance
Source: own invention, against the repeated call
Device: any
Expect: incorrect
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.result = None

    def forward(self, x):
        if self.result is None:
            self.result = torch.relu(x)
        return self.result.clone()
