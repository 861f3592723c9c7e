"""A CUDA kernel on the legacy default stream.

Task: assay/relu
Trick: no stream is named: the evaluator must run on that one too
Device: cuda
Expect: correct
Needs: g++ ninja nvcc
"""

import torch
from torch.utils.cpp_extension import load_inline

KERNEL = r"""
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] < 0 ? 0 : x[i];
}
extern "C" void launch(const float* x, float* y, int n, void*) { relu<<<(n + 255) / 256, 256>>>(x, y, n); }
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
        extension.run(x.data_ptr(), y.data_ptr(), x.numel(), 0)
        return y
