"""Inherits from the task's Model.

Task: assay/relu
Trick: task and submission share one namespace
Source: KernelBench 9 A33
Device: any
Expect: runtime_error
Error: exception NameError
Run: check
"""

import torch


class ModelNew(Model):  # noqa: F821
    pass
