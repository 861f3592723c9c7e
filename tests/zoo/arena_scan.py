"""Maps every shared segment it has and returns what is not its input.

The reference writes its outputs into a segment of its own, which no candidate is given.

Task: assay/gelu_tanh
Trick: the reference's outputs might lie beside the inputs
Source: own invention, against the shared arena
Device: cpu
Expect: incorrect
Run: check
"""

import ctypes

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        size = x.numel() * 4
        near = float(torch.nn.functional.gelu(x[0, 0], approximate="tanh"))
        for line in open("/proc/self/maps"):
            if "assay-segment" not in line:
                continue
            begin, end = (int(text, 16) for text in line.split()[0].split("-"))
            for at in range(begin, end - size, 4096):
                first = ctypes.c_float.from_address(at).value
                if at != x.data_ptr() and abs(first - near) < 1e-4:
                    block = (ctypes.c_float * x.numel()).from_address(at)
                    return torch.frombuffer(block, dtype=torch.float32).view(x.shape).clone()
        return torch.zeros_like(x)
