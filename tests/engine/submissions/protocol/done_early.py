"""Says done as soon as a round begins, from a thread that watches the go word.

status: incorrect|rejected_cheat|runtime_error|correct
task: costly
run: timed
not_faster_than: costly_timed
destructive: yes
"""

import ctypes
import threading

import torch


def control_page():
    for line in open("/proc/self/maps"):
        if "assay-control" in line:
            return int(line.split("-")[0], 16)
    raise RuntimeError("there is no control page")


PAGE = control_page()
GO, DONE = (ctypes.c_uint32.from_address(PAGE + at) for at in (0, 64))
FUTEX = ctypes.CDLL(None, use_errno=True).syscall


def lie():
    seen = GO.value
    while True:
        FUTEX(202, ctypes.c_void_p(PAGE), 0, seen, None, None, 0)  # sleeps until go changes
        seen = GO.value
        if 0 < seen < 0xFFFFFFFF:  # neither a reset nor the end
            DONE.value = seen
            FUTEX(202, ctypes.c_void_p(PAGE + 64), 1, 64, None, None, 0)  # wakes whoever waits for done


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.thread = None

    def forward(self, x):
        if self.thread is None:
            self.thread = threading.Thread(target=lie, daemon=True)
            self.thread.start()
        for _ in range(4):
            x = torch.tanh(x) + x
        return x
