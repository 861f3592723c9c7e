"""Takes a shorter way where all of its input allows it, and looks at all of it.

Task: assay/gelu_tanh
Trick: the way depends on the values, as a shortcut guarded by a sample does
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if bool((x.abs() > 30).any()):
            return torch.where(x < -30, torch.zeros_like(x), torch.nn.functional.gelu(x, approximate="tanh"))
        return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
