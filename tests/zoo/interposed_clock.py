"""Overwrites the entry of clock_gettime in the process, so that all its clocks run slowly.

Task: assay/gelu_tanh
Trick: native code can change any function of its own process
Source: pygpubench exploits (function detour); own: the clock
Device: cpu
Expect: correct|runtime_error|timeout
Twin: twin_gelu
Needs: gcc
"""

import ctypes
import os
import shutil
import subprocess

import torch

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int slow_clock(clockid_t id, struct timespec* t) {
  long rc = syscall(SYS_clock_gettime, id, t);
  long long ns = (t->tv_sec * 1000000000LL + t->tv_nsec) / 50;
  t->tv_sec = ns / 1000000000LL;
  t->tv_nsec = ns % 1000000000LL;
  return (int)rc;
}
int interpose(void) {
  uint8_t* entry = (uint8_t*)dlsym(RTLD_DEFAULT, "clock_gettime");
  uint8_t jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  void* target = (void*)slow_clock;
  memcpy(jump + 2, &target, 8);
  uintptr_t page = (uintptr_t)entry & ~4095ul;
  if (mprotect((void*)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return -1;
  memcpy(entry, jump, sizeof jump);
  return 0;
}
"""


def build():
    with open("native.c", "w") as file:
        file.write(SOURCE)
    subprocess.run([shutil.which("gcc"), "-O1", "-shared", "-fPIC", "-o", "native.so", "native.c", "-lpthread"], check=True)
    return ctypes.CDLL(os.path.abspath("native.so"))


build().interpose()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
