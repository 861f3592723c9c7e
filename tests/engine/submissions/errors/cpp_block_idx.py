"""g++ is given device code. An error about blockIdx is a compile error like any other.

status: compile_error
says: blockIdx
device: cpu
needs: g++ ninja
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
void relu(const float* x, float* y) {
  const int i = blockIdx.x * 256;  // <- the line
  y[i] = x[i] < 0 ? 0 : x[i];
}
"""

extension = load_inline("device_code", cpp_sources=SOURCE, no_implicit_headers=True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
