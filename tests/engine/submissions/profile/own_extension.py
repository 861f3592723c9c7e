"""An extension module whose kernel does all the work.

status: correct
run: profiled
device: cuda
needs: nvcc ninja
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/types.h>
__global__ void relu_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = x.numel();
  relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline("relu_profiled", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=SOURCE,
                     functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.relu(x)
