"""A C++ extension in plain CPython (no torch headers: it compiles in a second). Its twin
`extension_minus` gives its extension the same name and another meaning; they never meet.

status: correct
task: globals
device: cpu
needs: g++ ninja
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <Python.h>
static PyObject* run(PyObject*, PyObject* arguments) {
  unsigned long long in, out, n;
  if (!PyArg_ParseTuple(arguments, "KKK", &in, &out, &n)) return nullptr;
  for (unsigned long long i = 0; i < n; ++i) ((float*)out)[i] = ((const float*)in)[i] * 3.0f + 300.0f;
  Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"run", run, METH_VARARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "extension", "", -1, methods};
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
PyMODINIT_FUNC JOIN(PyInit_, TORCH_EXTENSION_NAME)() { return PyModule_Create(&module); }
"""

extension = load_inline("one_name_for_both", cpp_sources=SOURCE, no_implicit_headers=True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = torch.tanh(x[:300])
        y = torch.empty_like(x)
        extension.run(x.data_ptr(), y.data_ptr(), x.numel())
        return y
