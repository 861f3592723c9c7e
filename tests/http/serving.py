"""A running `assay serve`, without an engine, and a client made of bare sockets."""

import base64
import json
import os
import signal
import socket
import struct
import subprocess
import time


class Server:
    """`assay serve --runner echo` on a port of its own."""

    def __init__(self, binary, store, *arguments, env=None, runner="echo", port=0):
        self.log_path = store.with_suffix(f".{time.monotonic_ns()}.log")
        self.log_file = open(self.log_path, "wb")
        self.process = subprocess.Popen(
            [str(binary), "serve", "--port", str(port), "--runner", runner, "--store", str(store), "--json",
             *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=self.log_file, stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})})
        line = self.process.stdout.readline()
        assert line, f"no line of readiness; log:\n{self.log()}"
        self.ready = json.loads(line)
        self.port = self.ready["port"]

    def log(self):
        return self.log_path.read_text(errors="replace")

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=20):
        return self.process.wait(timeout)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log_file.close()

    def request(self, method, path, body=None, headers=None, timeout=30):
        """(status, headers, text) of one request on a connection of its own."""
        with Client(self.port, timeout=timeout) as client:
            return client.request(method, path, body, headers)


class Client:
    """An HTTP/1.1 or WebSocket client that can misbehave."""

    def __init__(self, port, timeout=30, wrap=None):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if wrap is not None:
            self.sock = wrap(self.sock)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def more(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError(f"closed; left in the buffer: {self.buffer[:200]!r}")
        self.buffer += data

    def take(self, size):
        while len(self.buffer) < size:
            self.more()
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def rest(self):
        try:
            while True:
                self.more()
        except (EOFError, ConnectionResetError):
            return self.buffer

    def head(self):
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        fields = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            fields[name.lower()] = value.strip()
        return int(lines[0].split()[1]), fields

    def response(self):
        status, fields = self.head()
        return status, fields, self.take(int(fields.get("content-length", 0))).decode()

    def request(self, method, path, body=None, headers=None):
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else (body or b"")
        fields = {"Host": "localhost", **(headers or {})}
        if data or method == "POST":
            fields.setdefault("Content-Type", "application/json")
            fields["Content-Length"] = str(len(data))
        lines = [f"{method} {path} HTTP/1.1"] + [f"{name}: {value}" for name, value in fields.items()]
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode() + data)
        return self.response()

    def upgrade(self, path="/ws", headers=None):
        key = base64.b64encode(os.urandom(16)).decode()
        fields = {"Host": "localhost", "Connection": "Upgrade", "Upgrade": "websocket",
                  "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key, **(headers or {})}
        lines = [f"GET {path} HTTP/1.1"] + [f"{name}: {value}" for name, value in fields.items()]
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode())
        return self.head()[0]

    def frame(self, opcode, payload=b"", fin=True):
        size = len(payload)
        head = bytes([(0x80 if fin else 0) | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload)) if size < 100_000 else \
            (int.from_bytes(payload, "little") ^
             int.from_bytes((mask * (size // 4 + 1))[:size], "little")).to_bytes(size, "little")
        self.send(head + mask + masked)

    def read_frame(self):
        """(opcode, payload)"""
        first, second = self.take(2)
        size = second & 0x7F
        if size == 126:
            size = struct.unpack(">H", self.take(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.take(8))[0]
        return first & 0x0F, self.take(size)

    def ask(self, message):
        """Sends a JSON message, answers pings, returns the next text message."""
        self.frame(1, json.dumps(message).encode())
        while True:
            opcode, payload = self.read_frame()
            if opcode == 9:
                self.frame(10, payload)
            elif opcode == 1:
                return json.loads(payload)
            elif opcode == 8:
                raise EOFError(f"closed with {close_code(payload)}")


def close_code(payload):
    return struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else None


def eventually(condition, timeout=20):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


SUBMISSION = {"task_id": "assay/relu", "source": "class ModelNew:\n    pass\n"}
TERM, HUP = signal.SIGTERM, signal.SIGHUP
