"""A native library whose constructor answers for the round before anything was called.

Task: assay/relu
Trick: constructors run inside dlopen, before any check of the module
Source: extensions with constructor code; own: the control page
Device: any
Expect: incorrect|rejected_cheat|runtime_error
Run: check
Needs: gcc
"""

import ctypes
import os
import shutil
import subprocess

import torch

SOURCE = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
__attribute__((constructor)) static void answer(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  while (maps && fgets(line, sizeof line, maps)) {
    if (!strstr(line, "assay-control")) continue;
    unsigned long base;
    sscanf(line, "%lx", &base);
    volatile uint32_t* words = (volatile uint32_t*)base;
    for (uint32_t n = 1; n < 64; ++n) words[16] = n;
  }
}
"""


def build():
    with open("native.c", "w") as file:
        file.write(SOURCE)
    subprocess.run([shutil.which("gcc"), "-O1", "-shared", "-fPIC", "-o", "native.so", "native.c", "-lpthread"], check=True)
    return ctypes.CDLL(os.path.abspath("native.so"))


build()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
