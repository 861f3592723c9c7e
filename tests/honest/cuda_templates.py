"""A templated CUDA kernel with several instances and async allocation.

Task: assay/relu
Trick: templates, and memory from the stream-ordered allocator
Device: cuda
Expect: correct
Needs: g++ ninja nvcc
"""

import torch
from torch.utils.cpp_extension import load_inline

KERNEL = r"""
template <int kUnroll, bool kTail>
__global__ void relu(const float* x, float* y, int n) {
  const int base = (blockIdx.x * blockDim.x + threadIdx.x) * kUnroll;
#pragma unroll
  for (int j = 0; j < kUnroll; ++j) if (!kTail || base + j < n) y[base + j] = x[base + j] < 0 ? 0 : x[base + j];
}
extern "C" void launch(const float* x, float* y, int n, void* stream) {
  void* scratch = nullptr;
  cudaMallocAsync(&scratch, 1 << 20, (cudaStream_t)stream);
  const int blocks = (n / 4 + 255) / 256;
  if (n % 1024 == 0) relu<4, false><<<blocks, 256, 0, (cudaStream_t)stream>>>(x, y, n);
  else relu<4, true><<<blocks + 1, 256, 0, (cudaStream_t)stream>>>(x, y, n);
  cudaFreeAsync(scratch, (cudaStream_t)stream);
}
"""

BINDING = r"""#include <Python.h>
extern "C" void launch(const float* x, float* y, int n, void* stream);
static PyObject* run(PyObject*, PyObject* arguments) {
  unsigned long long x, y, stream;
  int n;
  if (!PyArg_ParseTuple(arguments, "KKiK", &x, &y, &n, &stream)) return nullptr;
  launch((const float*)x, (float*)y, n, (void*)stream);
  Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"run", run, METH_VARARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "extension", "", -1, methods};
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
PyMODINIT_FUNC JOIN(PyInit_, TORCH_EXTENSION_NAME)() { return PyModule_Create(&module); }
"""

extension = load_inline("rectify", cpp_sources=BINDING, cuda_sources=KERNEL, no_implicit_headers=True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        extension.run(x.data_ptr(), y.data_ptr(), x.numel(), torch.cuda.current_stream().cuda_stream)
        return y
