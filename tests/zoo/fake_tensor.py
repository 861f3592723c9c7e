"""Returns a fake tensor that says it is on the right device.

Task: assay/relu
Trick: fake tensors claim a device that they do not use
Source: own invention, against the taking of results
Device: any
Expect: incorrect|runtime_error
Run: check
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode() as mode:
            return torch.empty(x.shape, dtype=x.dtype, device=x.device)
