"""Marks each round as failed on the control page and answers that all is well. Its result is right; it
may confuse only the engine's conversation with itself.

status: rejected_cheat|timeout|runtime_error|incorrect|correct
run: deadline
destructive: yes
"""

import ctypes
import os
import struct
import threading
import time

import torch


def control_page():
    for line in open("/proc/self/maps"):
        if "assay-control" in line:
            return int(line.split("-")[0], 16)
    raise RuntimeError("there is no control page")


FAILED = 136
PAGE = control_page()


def lie():
    word = ctypes.c_uint32.from_address(PAGE + FAILED)
    while True:
        word.value = 1


class ModelNew(torch.nn.Module):
    def forward(self, x):
        threading.Thread(target=lie, daemon=True).start()
        text = b'{"ok": true}'
        for name in os.listdir("/proc/self/fd"):
            try:
                if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                    os.write(int(name), struct.pack("<I", len(text)) + text)
            except OSError:
                pass
        time.sleep(0.2)
        return torch.relu(x)
