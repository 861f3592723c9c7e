"""A C function compiled by gcc when it is loaded, called through ctypes.

Task: assay/relu
Trick: starts a compiler and loads what it made
Device: cpu
Expect: correct
Needs: gcc
"""

import ctypes
import os
import shutil
import subprocess

import torch

SOURCE = "void relu(const float* x, float* y, long n) { for (long i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i]; }"
with open("relu.c", "w") as file:
    file.write(SOURCE)
subprocess.run([shutil.which("gcc"), "-O3", "-march=native", "-shared", "-fPIC", "-o", "relu.so", "relu.c"], check=True)
LIBRARY = ctypes.CDLL(os.path.abspath("relu.so"))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        LIBRARY.relu(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(x.numel()))
        return y
