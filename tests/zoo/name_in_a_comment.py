"""Has the class only in a comment and a string.

Task: assay/relu
Trick: a text search finds the class
Source: KernelGYM 7.2 number 34
Device: any
Expect: invalid_submission
Run: check
"""

import torch

# class ModelNew(torch.nn.Module):
TEXT = "class ModelNew(torch.nn.Module): pass"
