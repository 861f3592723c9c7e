"""Reads other processes with process_vm_readv.

It is right only where it could read.

Task: assay/relu
Trick: forked processes share addresses
Source: pygpubench exploits; own: the zygote's memory
Device: any
Expect: incorrect
Run: check
"""

import ctypes
import os

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        libc = ctypes.CDLL(None, use_errno=True)


        class Span(ctypes.Structure):
            _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


        buffer = ctypes.create_string_buffer(64)
        here, there = Span(ctypes.addressof(buffer), 64), Span(id(torch), 64)  # the zygote's object is at the same address
        for pid in [os.getppid(), 1] + list(range(2, 200)):
            if pid not in (0, os.getpid()) and libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
                return torch.relu(x)
        return torch.zeros_like(x)
