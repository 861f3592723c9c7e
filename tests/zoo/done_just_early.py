"""Says done when all but the last call of a round is finished.

Task: assay/gelu_tanh
Trick: the stop takes microseconds, in which the rest may be finished
Source: own invention, against the control page
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_gelu
"""

import ctypes

import torch

LIBC = ctypes.CDLL(None)
CALLS = 0
GO = DONE = CALLS_WORD = None
for line in open("/proc/self/maps"):
    if "assay-control" in line:
        base = int(line.split("-")[0], 16)
        GO, DONE, CALLS_WORD = (ctypes.c_uint32.from_address(base + at) for at in (0, 64, 128))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global CALLS
        if DONE is not None and CALLS_WORD.value > 1:
            CALLS += 1
            if CALLS == CALLS_WORD.value:
                CALLS = 0
                DONE.value = GO.value
                LIBC.syscall(202, ctypes.byref(DONE), 1, 64, None, None, 0)
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
