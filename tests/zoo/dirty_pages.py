"""Writes hundreds of megabytes to a file, to be written back while the reference runs.

Task: assay/gelu_tanh
Trick: the kernel works on after the process was stopped
Source: own invention, against the stop between rounds
Device: any
Expect: correct|runtime_error|out_of_memory
Twin: twin_gelu
"""

import torch

WRITTEN = False


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global WRITTEN
        if not WRITTEN:
            WRITTEN = True
            try:
                with open("ballast", "wb") as file:
                    for _ in range(64):
                        file.write(b"x" * (1 << 20))
            except OSError:
                pass
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
