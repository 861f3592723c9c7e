"""Replaces the numeric rule in its own copy of Assay's modules.

Task: assay/relu
Trick: the judge's code can be imported
Source: KernelGYM 7.2 numbers 1 and 2, turned on Assay
Device: any
Expect: incorrect|runtime_error
Run: check
"""

import torch

from assay.runtime import compare, judge, tree

compare.compare = lambda *arguments: {"passed": True, "max_abs_err": 0.0, "max_rel_err": 0.0, "mismatches": 0}
compare.tolerance = lambda dtype: 1e9
compare.TOLERANCE.clear()
judge.Lane.verify = lambda *arguments: {"passed": True, "inputs_changed": False}
tree.layout = lambda *arguments, **keywords: ([], 0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
