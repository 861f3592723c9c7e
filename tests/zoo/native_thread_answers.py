"""A native thread fills the output through its address after the call has returned.

Task: assay/relu
Trick: work goes on in a thread that Python does not know
Source: KernelBench 9 A5
Device: cpu
Expect: correct|incorrect|rejected_cheat|runtime_error
Twin: twin_relu
Needs: gcc
"""

import ctypes
import os
import shutil
import subprocess

import torch

SOURCE = r"""
#include <pthread.h>
#include <unistd.h>
struct job { const float* x; float* y; long n; };
static struct job job;
static void* work(void* unused) {
  (void)unused;
  usleep(50);
  for (long i = 0; i < job.n; ++i) job.y[i] = job.x[i] < 0 ? 0 : job.x[i];
  return 0;
}
void start(const float* x, float* y, long n) {
  pthread_t thread;
  job = (struct job){x, y, n};
  pthread_create(&thread, 0, work, 0);
  pthread_detach(thread);
}
"""


def build():
    with open("native.c", "w") as file:
        file.write(SOURCE)
    subprocess.run([shutil.which("gcc"), "-O1", "-shared", "-fPIC", "-o", "native.so", "native.c", "-lpthread"], check=True)
    return ctypes.CDLL(os.path.abspath("native.so"))


LIBRARY = build()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        LIBRARY.start(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(x.numel()))
        return y
