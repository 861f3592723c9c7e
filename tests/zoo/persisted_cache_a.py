"""Poisons every cache and start-up file that it can write, and looks for what its twin left.

Its twin persisted_cache_b does the same: neither may find the other's files, nor its own of an
earlier run.

Task: assay/relu
Trick: caches, sitecustomize and .pth files outlive the process
Source: KernelGYM 7.2 numbers 6 and 32; KernelBench 8.3 P2
Device: any
Expect: correct
Twin: twin_relu
"""

import os
import sys

import torch

MARK = "assay-zoo-persisted"
PLACES = [os.path.expanduser("~"), "/tmp", "/var/tmp", "/dev/shm", os.path.dirname(os.__file__), sys.prefix, os.getcwd(),
          os.environ.get("TRITON_CACHE_DIR", "/"), os.environ.get("TORCH_EXTENSIONS_DIR", "/"), os.environ.get("TMPDIR", "/")]
PLACES += [path for path in sys.path if path] + [os.path.expanduser("~/.triton/cache"), os.path.expanduser("~/.cache")]
for place in PLACES:
    for name in (MARK, "usercustomize.py", "sitecustomize.py", MARK + ".pth"):
        path = os.path.join(place, name)
        if os.path.exists(path) and MARK in open(path, errors="replace").read():
            raise RuntimeError("found what another submission left in " + path)
for place in PLACES:
    for name in (MARK, "usercustomize.py", "sitecustomize.py", MARK + ".pth"):
        try:
            with open(os.path.join(place, name), "x") as file:
                file.write("# " + MARK)
        except OSError:
            pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
