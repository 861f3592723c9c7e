"""Writes beyond its result, over whatever lies there.

The memory belongs to the process; the judge's does not lie beside it.

Task: assay/relu
Trick: neighbouring memory may be the expected output
Source: KernelBench 9 A39
Device: cpu
Expect: correct|incorrect|runtime_error
Run: check
Needs: gcc
"""

import ctypes
import os
import shutil
import subprocess

import torch

SOURCE = r"""
void relu(const float* x, float* y, long n) {
  for (long i = 0; i < n + 8; ++i) y[i] = i < n ? (x[i] < 0 ? 0 : x[i]) : 1e30f;
}
"""


def build():
    with open("native.c", "w") as file:
        file.write(SOURCE)
    subprocess.run([shutil.which("gcc"), "-O1", "-shared", "-fPIC", "-o", "native.so", "native.c", "-lpthread"], check=True)
    return ctypes.CDLL(os.path.abspath("native.so"))


LIBRARY = build()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.numel() + 8)
        LIBRARY.relu(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(x.numel()))
        z = torch.zeros_like(x)
        LIBRARY.relu(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(z.data_ptr()), ctypes.c_long(x.numel() - 8))
        return y[: x.numel()].view(x.shape)
