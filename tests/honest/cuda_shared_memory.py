"""Uses a hundred kilobytes of dynamic shared memory a block.

Task: assay/relu
Trick: more shared memory than a kernel gets without asking
Device: cuda
Expect: correct
Needs: g++ ninja nvcc
"""

import torch
from torch.utils.cpp_extension import load_inline

KERNEL = r"""
constexpr int kBytes = 100 << 10;
constexpr int kFloats = kBytes / 4;
extern __shared__ float tile[];
__global__ void relu(const float* x, float* y, int n) {
  const long base = (long)blockIdx.x * kFloats;
  for (int i = threadIdx.x; i < kFloats; i += blockDim.x) if (base + i < n) tile[i] = x[base + i];
  __syncthreads();
  for (int i = threadIdx.x; i < kFloats; i += blockDim.x) if (base + i < n) y[base + i] = tile[i] < 0 ? 0 : tile[i];
}
extern "C" void launch(const float* x, float* y, int n, void* stream) {
  cudaFuncSetAttribute(relu, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  relu<<<(n + kFloats - 1) / kFloats, 512, kBytes, (cudaStream_t)stream>>>(x, y, n);
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
