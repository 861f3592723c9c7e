"""C++ that does not compile.

Task: assay/relu
Trick: the compiler's own words belong to the feedback
Device: any
Expect: compile_error
Run: check
Needs: g++ ninja
"""

import torch
from torch.utils.cpp_extension import load_inline

extension = load_inline("broken", cpp_sources="#include <Python.h>\nint f( { return undeclared; }", no_implicit_headers=True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.f(x)
