"""Sets variables that would change interpreters, linkers and libraries started later.

Task: assay/relu
Trick: a reference that is started later inherits them
Source: KernelGYM 7.2 number 32
Device: any
Expect: correct
Twin: twin_relu
"""

import os

import torch

os.environ.update(LD_PRELOAD="/tmp/evil.so", PYTHONPATH="/tmp", PYTHONSTARTUP="/tmp/evil.py", OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="",
                  CUDA_LAUNCH_BLOCKING="1", TRITON_INTERPRET="1", TORCH_LOGS="+all", PYTHONHASHSEED="0", MALLOC_ARENA_MAX="1")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
