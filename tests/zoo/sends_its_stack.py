"""Sends its own control page and descriptors back to the engine over the channel.

Task: assay/relu
Trick: descriptors that the engine might map instead of its own
Source: own invention, against the result socket
Device: any
Expect: rejected_cheat|runtime_error|incorrect
Run: check
"""

import array
import os
import socket
import struct

import torch

for name in os.listdir("/proc/self/fd"):
    try:
        if os.readlink("/proc/self/fd/" + name).startswith("socket:"):
            channel = socket.socket(fileno=os.dup(int(name)))
            text = b'{"seq": 1, "ok": true, "event": "rounds", "inside_us": [[0.001]], "weights": "copied"}'
            numbers = array.array("i", [os.open("/dev/zero", os.O_RDWR), os.open("control", os.O_RDWR | os.O_CREAT)])
            channel.sendmsg([struct.pack("<I", len(text)) + text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])
            channel.detach()
    except OSError:
        pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
