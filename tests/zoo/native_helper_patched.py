"""Overwrites the code of Assay's native helper in its process: waiting for go returns at once.

Rounds then run before they are asked for, on inputs that are not there yet.

Task: assay/relu
Trick: the helper's code pages can be made writable by native code
Source: own invention, against the native helper
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_relu
Needs: gcc
Slow: yes
"""

import ctypes
import os
import shutil
import subprocess
import sys

import torch

SOURCE = r"""
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
int patch(uint8_t* entry) {
  const uint8_t code[6] = {0xb8, 1, 0, 0, 0, 0xc3};  // return 1
  uintptr_t page = (uintptr_t)entry & ~4095ul;
  if (mprotect((void*)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return -2;
  memcpy(entry, code, sizeof code);
  return 0;
}
"""


def build():
    with open("native.c", "w") as file:
        file.write(SOURCE)
    subprocess.run([shutil.which("gcc"), "-O1", "-shared", "-fPIC", "-o", "native.so", "native.c", "-lpthread"], check=True)
    return ctypes.CDLL(os.path.abspath("native.so"))


HELPER = sys.modules["assay.runtime.native"]._library
build().patch(ctypes.cast(HELPER.assay_control_wait_go, ctypes.c_void_p))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
