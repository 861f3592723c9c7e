"""Tries to make its inputs writable: mprotect, a second mapping of the descriptor, a write through
/proc/self/mem or a descriptor opened anew.

status: correct
device: cpu
"""

import ctypes
import mmap
import os

import torch

C = ctypes.CDLL(None, use_errno=True)


def mapping_of(address):
    for line in open("/proc/self/maps"):
        first, last = (int(part, 16) for part in line.split()[0].split("-"))
        if first <= address < last:
            return first, last, line
    raise RuntimeError("the input is nowhere")


def look(x):
    found = []
    first, last, line = mapping_of(x.data_ptr())
    if "assay-segment" not in line or line.split()[1] != "r--s":
        found.append(f"the input lies in {line}")
    if C.mprotect(ctypes.c_void_p(first), ctypes.c_size_t(last - first), 3) == 0:
        found.append("mprotect")
    try:
        with open("/proc/self/mem", "r+b", 0) as memory:
            memory.seek(x.data_ptr())
            memory.write(b"\0\0\0\0")
            found.append("/proc/self/mem")
    except OSError:
        pass
    fds = {name: os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")}
    for name, target in fds.items():
        if "assay-segment" not in target:
            continue
        for path in (f"/proc/self/fd/{name}",):
            try:
                fd = os.open(path, os.O_RDWR)
                mmap.mmap(fd, last - first, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
                found.append(f"mapped {target}")
            except (OSError, ValueError):
                pass
    try:
        fd = os.open(f"/proc/self/map_files/{first:x}-{last:x}", os.O_RDWR)
        mmap.mmap(fd, last - first, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        found.append("map_files")
    except (OSError, ValueError):
        pass
    return found


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if found := look(x):
            raise RuntimeError(f"FOUND {found}")
        return torch.relu(x)
