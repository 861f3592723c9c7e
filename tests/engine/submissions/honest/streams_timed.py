"""Uses a stream of its own as one does, and says so: what it waits for is not the round's beginning.

status: correct
device: cuda
task: costly
run: timed
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        with torch.cuda.stream(self.side):
            for _ in range(4):
                x = torch.tanh(x) + x
        torch.cuda.current_stream().wait_stream(self.side)
        return x
