"""Walks the frames of its callers for a tensor that could be the expected output.

Task: assay/gelu_tanh
Trick: the reference's output stands in the caller's locals
Source: KernelBench 9 A17; KernelGYM 7.2 number 8
Device: any
Expect: incorrect
Run: check
"""

import sys

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        frame = sys._getframe(1)
        while frame is not None:
            for value in list(frame.f_locals.values()):
                for tensor in value if isinstance(value, (list, tuple)) else (value,):
                    if isinstance(tensor, torch.Tensor) and tensor.shape == x.shape and tensor.data_ptr() != x.data_ptr():
                        return tensor.clone()
            frame = frame.f_back
        return torch.zeros_like(x)
