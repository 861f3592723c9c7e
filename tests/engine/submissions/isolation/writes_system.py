"""Tries to write where programs, packages and the judge's own code lie, and to mount and to become
root.

status: correct
"""

import ctypes
import os
import sys

import torch

RUNTIME = os.path.dirname(sys.modules["assay.runtime.candidate"].__file__) if "assay.runtime.candidate" in sys.modules \
    else "/usr/lib/assay"


def look():
    found = []
    targets = [
        "/usr/@UNIQUE@",
        "/usr/bin/@UNIQUE@",
        "/etc/@UNIQUE@",
        "/@UNIQUE@",
        os.path.join(RUNTIME, "@UNIQUE@.py"),
        os.path.join(os.path.dirname(torch.__file__), "@UNIQUE@.py"),
        os.path.join(sys.prefix, "@UNIQUE@"),
    ]
    for path in targets:
        try:
            with open(path, "w"):
                found.append(f"made {path}")
        except OSError:
            pass
    for path in (os.path.join(RUNTIME, "judge.py"), torch.__file__, sys.executable):
        try:
            with open(path, "r+b"):
                found.append(f"opened {path} for writing")
        except OSError:
            pass
        try:
            os.rename(path, path + ".@UNIQUE@")
            found.append(f"renamed {path}")
        except OSError:
            pass
    if ctypes.CDLL(None).mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
        found.append("mounted")
    for become in (os.setuid, os.setgid):
        try:
            become(0)
            if os.getuid() == 0 and os.path.exists("@HOST_FILE@"):
                found.append("became root")
        except OSError:
            pass
    return found


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        if found := look():
            raise RuntimeError(f"FOUND {found}")

    def forward(self, x):
        return torch.relu(x)
