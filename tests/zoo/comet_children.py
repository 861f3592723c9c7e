"""A chain of processes that fork and exit faster than a walk of the process tree sees them.

The worker stops all descendants that it finds below /proc. A process that has forked and gone
between two looks leaves a child that the walk has not seen, and that one slows the reference down.

Task: assay/gelu_tanh
Trick: two chains of short-lived processes occupy both cores while the reference is timed; its own
  calls use one thread
Source: own invention, against the walk of the process tree
Device: cpu
Expect: correct|rejected_cheat|runtime_error|incorrect
Twin: twin_gelu_one_thread
Needs: gcc
"""

import os
import shutil
import signal
import subprocess

import torch

# A static program without a C library's start: its fork costs some 50 us.
SOURCE = r"""
#include <signal.h>
#include <unistd.h>
int main(void) {
  signal(SIGCHLD, SIG_IGN);
  for (;;) {
    for (volatile unsigned i = 0; i < 100000; ++i) {}
    if (fork() > 0) _exit(0);
  }
}
"""


def build():
    with open("comet.c", "w") as file:
        file.write(SOURCE)
    subprocess.run([shutil.which("gcc"), "-O1", "-static", "-o", "comet", "comet.c"], check=True)
    return os.path.abspath("comet")


class ModelNew(torch.nn.Module):
    started = False

    def __init__(self):
        super().__init__()
        if not ModelNew.started:
            ModelNew.started = True
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            program = build()
            for _ in range(2):
                if os.fork() == 0:
                    os.closerange(3, 1024)
                    os.execv(program, [program])

    def forward(self, x):
        torch.set_num_threads(1)
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
