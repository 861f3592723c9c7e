"""Sets a persisting window of the L2 cache over its inputs and outputs.

Task: assay/relu
Trick: persisting lines survive a flush
Source: KernelBench 8.1 T8; bug V07
Device: cuda
Expect: correct|runtime_error
Twin: twin_triton_relu
"""

import ctypes

import torch
import triton
import triton.language as tl

@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where(x < 0, 0.0, x), mask=at < n)


def relu(x, y):
    relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)


CUDA = ctypes.CDLL("libcuda.so.1")
CUDA.cuCtxSetLimit(6, ctypes.c_size_t(32 << 20))  # persisting L2 size


class Window(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t), ("ratio", ctypes.c_float), ("hit", ctypes.c_int),
                ("miss", ctypes.c_int), ("pad", ctypes.c_char * 64)]


SCRATCH = torch.zeros(8 << 20, device="cuda")
window = Window(SCRATCH.data_ptr(), 32 << 20, 1.0, 2, 1)
CUDA.cuStreamSetAttribute(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), 1, ctypes.byref(window))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu(x, y)
        return y
