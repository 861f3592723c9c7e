"""Tries to reach a server on this machine (the test listens), an abstract Unix socket, the outside
world and a name server.

status: correct
outside: finds
"""

import socket

import torch


def look():
    found = []
    targets = [
        (socket.AF_INET, ("127.0.0.1", int("@PORT@"))),
        (socket.AF_INET6, ("::1", int("@PORT@"))),
        (socket.AF_INET, ("1.1.1.1", 53)),
        (socket.AF_UNIX, "\0@ABSTRACT@"),
    ]
    for family, address in targets:
        try:
            with socket.socket(family, socket.SOCK_STREAM) as client:
                client.settimeout(2)
                client.connect(address)
                found.append(f"connected to {address!r}")
        except OSError:
            pass
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.sendto(b"x", ("127.0.0.1", 53))
            found.append("sent a datagram")
    except OSError:
        pass
    try:
        found.append(f"resolved {socket.getaddrinfo('example.com', 80)}")
    except OSError:
        pass
    return found


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        if found := look():
            raise RuntimeError(f"FOUND {found}")

    def forward(self, x):
        return torch.relu(x)
