"""Computes the inputs of the whole round in its first call and hands the rest out.

Task: assay/relu
Trick: finds the round's inputs in its caller's frame and batches them
Source: KernelBench 8.1 T6; own: a round's inputs are there at go
Device: any
Expect: correct|incorrect|rejected_cheat
Twin: twin_relu
"""

import sys

import torch

READY = {}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_name not in ("_one", "_run_taking_each"):
            frame = frame.f_back
        rest = [values[0] for values in frame.f_locals["args"]] if frame is not None else [x]
        if READY.get("for") is not frame or x.data_ptr() not in READY:
            READY.clear()
            READY["for"] = frame
            for other in rest:
                READY[other.data_ptr()] = torch.relu(other)
        return READY.pop(x.data_ptr())
