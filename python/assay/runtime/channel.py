"""Framed JSON over a Unix stream socket, the Python end of ``src/base/channel.h``.

Four bytes of little-endian length, then the text; descriptors ride on the first byte of a frame.
"""

import array
import json
import os
import socket
import struct

MAX_FRAME = 4 << 20
MAX_FDS = 64


class Closed(Exception):
    """The peer closed its end."""


class Channel:
    """Owns a connected socket. Not thread-safe."""

    def __init__(self, fd: int):
        self._socket = socket.socket(fileno=fd)
        self._socket.setblocking(True)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, body: dict, fds: tuple[int, ...] = ()) -> None:
        text = json.dumps(body, allow_nan=False).encode()
        if len(text) > MAX_FRAME:
            raise ValueError(f"message of {len(text)} bytes is over the limit of {MAX_FRAME}")
        frame = struct.pack("<I", len(text)) + text
        sent = 0
        if fds:
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            sent = self._socket.sendmsg([frame], ancillary)
        self._socket.sendall(frame[sent:])

    def receive(self) -> tuple[dict, list[int]]:
        """The next message and its descriptors, which the caller owns. Raises Closed."""
        fds: list[int] = []
        (size,) = struct.unpack("<I", self._read(4, fds))
        if size > MAX_FRAME:
            raise ValueError(f"frame of {size} bytes is over the limit of {MAX_FRAME}")
        return json.loads(self._read(size, fds)), fds

    def _read(self, size: int, fds: list[int]) -> bytes:
        parts = []
        while size:
            data, ancillary, flags, _ = self._socket.recvmsg(
                min(size, 1 << 20), socket.CMSG_SPACE(MAX_FDS * 4), socket.MSG_CMSG_CLOEXEC
            )
            for level, kind, payload in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    numbers = array.array("i")
                    numbers.frombytes(payload[: len(payload) // 4 * 4])
                    fds.extend(numbers)
            if not data or flags & socket.MSG_CTRUNC:
                for fd in fds:
                    os.close(fd)
                raise Closed
            parts.append(data)
            size -= len(data)
        return b"".join(parts)
