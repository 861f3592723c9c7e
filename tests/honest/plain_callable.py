"""A class with __call__ that is no nn.Module.

Task: assay/relu
Trick: no state_dict, no to()
Device: any
Expect: correct
"""

import torch


class ModelNew:
    def __call__(self, x):
        return torch.relu(x)

    forward = __call__
