"""Writes a perfect verdict to every descriptor it has and exits.

Task: assay/relu
Trick: one of them leads to the evaluator
Source: KernelBench 9 A18; KernelGYM 7.2 number 4
Device: any
Expect: rejected_cheat|runtime_error
Run: check
"""

import os
import struct

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        text = b'{"ok": true, "status": "correct", "correct": true, "speedup": 100, "event": "ready"}\n'
        for number in range(1, 64):
            for frame in (text, struct.pack("<I", len(text)) + text):
                try:
                    os.write(number, frame)
                except OSError:
                    pass
        os._exit(0)
