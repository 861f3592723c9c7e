"""Works on a stream that does not wait for the round to begin, and hides that it has one.

It has one hardware queue for all its streams, which the gate blocks: the time is the honest one. Where
it did run, the inputs were not complete, and what it computed is wrong.

status: correct|incorrect|rejected_cheat
at_most: 1.1
device: cuda
task: costly
run: timed
destructive: yes
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.early = getattr(torch.cuda, "Str" + "eam")()

    def forward(self, x):
        with getattr(torch.cuda, "str" + "eam")(self.early):
            for _ in range(4):
                x = torch.tanh(x) + x
        getattr(torch.cuda, "current_" + "str" + "eam")().wait_event(self.early.record_event())
        return x
