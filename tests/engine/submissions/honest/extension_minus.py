"""See `extension_plus`, whose extension has this one's name and another meaning.

status: correct
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
  for (unsigned long long i = 0; i < n; ++i) ((float*)out)[i] = ((const float*)in)[i] < 0 ? 0 : ((const float*)in)[i];
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
        y = torch.empty_like(x)
        extension.run(x.data_ptr(), y.data_ptr(), x.numel())
        return y
