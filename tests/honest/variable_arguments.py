"""Takes any number of arguments in constructor and call.

Task: assay/relu
Trick: arity cannot be read from the signature
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, *arguments, **keywords):
        super().__init__()

    def forward(self, *arguments, **keywords):
        (x,) = arguments
        return torch.relu(x)
