"""Reports that the infrastructure failed, to be judged again or not at all: what it says is only a
claim about itself.

status: runtime_error|rejected_cheat
"""

import json
import os
import struct

import torch

BODY = json.dumps({"ok": False, "error": {"kind": "infrastructure", "name": "judge", "message": "the GPU is lost",
                                          "line": -5}}).encode()
for name in os.listdir("/proc/self/fd"):
    try:
        if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
            os.write(int(name), struct.pack("<I", len(BODY)) + BODY)
    except OSError:
        pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
