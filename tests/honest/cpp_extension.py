"""A C++ extension with OpenMP, built by load_inline without torch's headers.

Task: assay/relu
Trick: a build with ninja inside the sandbox
Device: cpu
Expect: correct
Needs: g++ ninja
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <Python.h>
static void rectify(const float* x, float* y, long n) {
#pragma omp parallel for
  for (long i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];
}
static PyObject* run(PyObject*, PyObject* arguments) {
  unsigned long long x, y, n;
  if (!PyArg_ParseTuple(arguments, "KKK", &x, &y, &n)) return nullptr;
  rectify((const float*)x, (float*)y, n);
  Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"run", run, METH_VARARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "extension", "", -1, methods};
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
PyMODINIT_FUNC JOIN(PyInit_, TORCH_EXTENSION_NAME)() { return PyModule_Create(&module); }
"""
extension = load_inline("rectify", cpp_sources=SOURCE, no_implicit_headers=True, extra_cflags=["-O3", "-fopenmp"], extra_ldflags=["-fopenmp"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        extension.run(x.data_ptr(), y.data_ptr(), x.numel())
        return y
