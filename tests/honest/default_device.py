"""Sets the default device and makes its constants there.

Task: assay/softmax_rows
Trick: a function mode that stands over every later call in the process
Device: any
Expect: correct
"""

import torch

torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.base = torch.tensor(2.0)

    def forward(self, x):
        y = torch.pow(self.base, (x - x.amax(1, keepdim=True)) * 1.4426950408889634)
        return y / y.sum(1, keepdim=True)
