"""Warp-level CUDA with inline PTX and vector loads.

Task: assay/relu
Trick: assembly inside
Device: cuda
Expect: correct
Needs: g++ ninja nvcc
"""

import torch
from torch.utils.cpp_extension import load_inline

KERNEL = r"""
#include <stdint.h>
__device__ float rectified(float x) {
  float y;
  asm("max.f32 %0, %1, 0f00000000;" : "=f"(y) : "f"(x));
  return y;
}
__global__ void relu(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v;
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(x + i));
  v.x = rectified(v.x); v.y = rectified(v.y); v.z = rectified(v.z); v.w = rectified(v.w);
  const unsigned whole = __ballot_sync(__activemask(), 1);
  if (whole != 0) y[i] = v;
}
extern "C" void launch(const float* x, float* y, int n, void* stream) {
  relu<<<(n / 4 + 255) / 256, 256, 0, (cudaStream_t)stream>>>((const float4*)x, (float4*)y, n / 4);
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
