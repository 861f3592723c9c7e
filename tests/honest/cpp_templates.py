"""Two extensions with templates in one module, under one name each.

Task: assay/relu
Trick: several builds in one submission
Device: cpu
Expect: correct
Needs: g++ ninja
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <Python.h>
#include <algorithm>
template <typename T, int kUnroll>
void Rectify(const T* x, T* y, long n) {
  long i = 0;
  for (; i + kUnroll <= n; i += kUnroll)
    for (int j = 0; j < kUnroll; ++j) y[i + j] = std::max(x[i + j], T(0));
  for (; i < n; ++i) y[i] = std::max(x[i], T(0));
}
static void rectify(const float* x, float* y, long n) { Rectify<float, UNROLL>(x, y, n); }
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
extensions = [
    load_inline(f"rectify_{n}", cpp_sources=SOURCE, no_implicit_headers=True, extra_cflags=["-O3", f"-DUNROLL={n}"]) for n in (4, 8)
]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        half = x.numel() // 2
        for i, extension in enumerate(extensions):
            extension.run(x.data_ptr() + 4 * i * half, y.data_ptr() + 4 * i * half, half)
        return y
