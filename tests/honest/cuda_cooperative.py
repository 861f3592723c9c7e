"""A cooperative launch with a barrier across the grid.

Task: assay/relu
Trick: needs the whole device at once
Device: cuda
Expect: correct
Needs: g++ ninja nvcc
"""

import torch
from torch.utils.cpp_extension import load_inline

KERNEL = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void relu(const float* x, float* y, int n) {
  cg::grid_group grid = cg::this_grid();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) y[i] = x[i];
  grid.sync();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) y[i] = y[i] < 0 ? 0 : y[i];
}
extern "C" void launch(const float* x, float* y, int n, void* stream) {
  int device = 0, processors = 0, blocks = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, relu, 256, 0);
  void* arguments[] = {&x, &y, &n};
  cudaLaunchCooperativeKernel((void*)relu, processors * blocks, 256, arguments, 0, (cudaStream_t)stream);
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
