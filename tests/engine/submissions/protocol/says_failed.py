"""Marks a round as failed on the control page, answers that all is well, and is gone three seconds
later if nobody minded.

status: rejected_cheat|runtime_error
error: integrity control_page|integrity protocol|crash exit
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
    end = time.monotonic() + 3
    while time.monotonic() < end:
        word.value = 1
    os._exit(3)


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
