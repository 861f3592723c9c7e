"""Looks for the result in everything that is shared with another process: descriptors, shared
mappings, files in memory. In a timing the reference may have computed it already.

status: correct
run: timed
device: cpu
outside: finds
"""

import os

import torch

FOLDERS = os.environ.get("PROBE_FOLDERS", "/work /tmp /dev/shm").split()


def shared_bytes():
    for name in os.listdir("/proc/self/fd"):
        try:
            yield f"fd {name}", os.pread(int(name), 1 << 24, 0)
        except OSError:
            pass
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            parts = line.split()
            if parts[1][0] == "r" and parts[1][3] == "s":
                first, last = (int(part, 16) for part in parts[0].split("-"))
                try:
                    memory.seek(first)
                    yield line, memory.read(last - first)
                except (OSError, ValueError):
                    pass
    for top in FOLDERS:
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if not os.path.ismount(os.path.join(folder, name))]
            for name in files:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        yield os.path.join(folder, name), file.read(1 << 24)
                except OSError:
                    pass


def look(x):
    wanted = bytes(memoryview(torch.relu(x).numpy()).cast("B"))[:400]
    return [name for name, block in shared_bytes() if wanted in block]


calls = 0


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global calls
        calls += 1
        if (calls <= 5 or calls % 5 == 0) and (found := look(x)):
            raise RuntimeError(f"FOUND {found}")
        return torch.relu(x)
