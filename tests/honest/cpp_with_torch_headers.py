"""A C++ extension that includes torch/extension.h.

Task: assay/relu
Trick: half a minute of compilation
Device: cpu
Expect: correct
Needs: g++ ninja
Slow: yes
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = "torch::Tensor rectify(torch::Tensor x) { return x.clamp_min(0); }"
extension = load_inline("rectify", cpp_sources=SOURCE, functions=["rectify"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.rectify(x)
