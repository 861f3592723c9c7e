"""The server for launchers that want Python: `python -m kernel_env.server.app`, `uvicorn server.app:app`.

The server itself is the binary `assay serve`. `main` becomes it. `app` is an ASGI application that starts
it on a private port when the launcher starts and passes on what comes: heads, HTTP bodies and WebSocket
messages unchanged, so that everything behaves as without it. Importing this module does nothing.

Who reaches the server may run code in its judge, so `main` serves this machine alone unless it is told
otherwise, and then wants keys (KERNEL_ENV_API_KEY_FILE) or an explicit `insecure`. Where `app` listens is its
launcher's choice; its server asks for the same keys, and without them answers to localhost, to addresses and
to the names in KERNEL_ENV_ALLOW_HOSTS.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import socket
import sys
from pathlib import Path
from typing import Any, Awaitable, Callable, Optional

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_START_SECONDS = 60.0
_LARGEST_MESSAGE = 64 << 20
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
# Of one hop, so not passed on.
_HOP_HEADERS = {b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"te", b"trailer", b"proxy-connection"}


def find_binary() -> str:
    """The assay binary: ASSAY_BIN, on the PATH, beside this interpreter, or in a checkout's build."""
    named = os.environ.get("ASSAY_BIN")
    checkout = Path(__file__).resolve().parents[2] / "build/release/bin/assay"
    for candidate in (named, shutil.which("assay"), Path(sys.executable).parent / "assay", checkout):
        if candidate and os.access(candidate, os.X_OK):
            return str(candidate)
    raise FileNotFoundError("no assay binary: install assay (pip install . in its checkout), or set ASSAY_BIN")


def main(host: Optional[str] = None, port: Optional[int] = None, insecure: bool = False) -> None:
    """Becomes `assay serve` on `host` and `port`; does not return. Without either: as the command line says.

    The server's defaults are 127.0.0.1 and 8000 (or PORT). It refuses another address that has neither a key
    file nor `insecure`, and says what to do.
    """
    if host is None and port is None:
        chosen = _command_line()
        host, port, insecure = chosen.host, chosen.port, insecure or chosen.insecure
    arguments = ["assay", "serve"]
    arguments += ["--host", host] if host is not None else []
    arguments += ["--port", str(port)] if port is not None else []
    arguments += ["--insecure"] if insecure else []
    os.execv(find_binary(), arguments)


def _command_line() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Starts Kernel Env's server, `assay serve`.")
    parser.add_argument("--host", help="another address than 127.0.0.1 needs keys (KERNEL_ENV_API_KEY_FILE) "
                                       "or --insecure")
    parser.add_argument("--port", type=int, help="default: 8000, or PORT")
    parser.add_argument("--insecure", action="store_true", help="let everybody who reaches the address use it")
    return parser.parse_args()


class Relay:
    """The ASGI application. One server process; started once, by the lifespan or the first request."""

    def __init__(self) -> None:
        self._process: Optional[asyncio.subprocess.Process] = None
        self._starting: Optional[asyncio.Lock] = None
        self._port = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        await self._ensure_started()
        await (self._websocket if scope["type"] == "websocket" else self._http)(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._ensure_started()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _ensure_started(self) -> None:
        if self._starting is None:
            self._starting = asyncio.Lock()
        async with self._starting:
            if self._process is not None and self._process.returncode is None:
                return
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self._port = probe.getsockname()[1]
            self._process = await asyncio.create_subprocess_exec(
                find_binary(), "serve", "--host", "127.0.0.1", "--port", str(self._port))
            await self._wait_for_port()

    async def _wait_for_port(self) -> None:
        assert self._process is not None
        deadline = asyncio.get_running_loop().time() + _START_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            if self._process.returncode is not None:
                raise RuntimeError(f"assay serve ended with code {self._process.returncode}")
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self._port)
                writer.close()
                return
            except OSError:
                await asyncio.sleep(0.05)
        await self._stop()
        raise RuntimeError(f"assay serve did not listen within {_START_SECONDS:g} s")

    async def _stop(self) -> None:
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()  # it drains
        try:
            await asyncio.wait_for(self._process.wait(), 30)
        except asyncio.TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        first = await receive()
        if first["type"] == "http.disconnect":
            return
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)
        head, chunked = _request_head(scope, first)
        writer.write(head)
        sending = asyncio.create_task(_send_body(first, receive, writer, chunked))
        try:
            status, headers = await _read_head(reader)
            kept = [(name, value) for name, value in headers if name not in _HOP_HEADERS]
            await send({"type": "http.response.start", "status": status, "headers": kept})
            # `connection: close` was asked for, so the body ends with the connection at the latest.
            async for piece in _read_body(reader, dict(headers), scope["method"] == "HEAD" or status in (204, 304)):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except (asyncio.IncompleteReadError, ConnectionError):
            if not sending.done():  # else the client went first, and the connection with it
                raise
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            writer.close()

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        from websockets.asyncio.client import connect
        from websockets.exceptions import ConnectionClosed, InvalidStatus, InvalidURI

        await receive()  # websocket.connect
        passed = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
                  if name in (b"authorization", b"cookie", b"origin", b"x-api-key", b"x-request-id")]
        named = dict(scope["headers"]).get(b"host", b"localhost").decode("latin-1")
        try:
            if not _HOST.fullmatch(named):
                raise InvalidURI(named, "not a host")
            # The client's Host, for the server compares it with the Origin.
            upstream = await connect(f"ws://{named}{_target(scope)}", host="127.0.0.1", port=self._port,
                                     additional_headers=passed, max_size=_LARGEST_MESSAGE, ping_interval=None,
                                     proxy=None, compression=None)
        except (InvalidStatus, InvalidURI):
            await send({"type": "websocket.close", "code": 1008})  # before accept: a refused handshake
            return
        await send({"type": "websocket.accept"})

        async def up() -> None:
            while (event := await receive())["type"] == "websocket.receive":
                message = event.get("text")
                await upstream.send(message if message is not None else event["bytes"])

        async def down() -> None:
            async for message in upstream:
                kind = "text" if isinstance(message, str) else "bytes"
                await send({"type": "websocket.send", kind: message})

        tasks = {asyncio.create_task(up()), asyncio.create_task(down())}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if (error := task.exception()) and not isinstance(error, ConnectionClosed):
                    raise error
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await upstream.close()
            try:
                await send({"type": "websocket.close", "code": upstream.close_code or 1000,
                            "reason": upstream.close_reason or ""})
            except Exception:
                pass  # the client went first


def _target(scope: Scope) -> str:
    path = scope.get("raw_path") or scope["path"].encode()
    query = scope.get("query_string") or b""
    return (path + (b"?" + query if query else b"")).decode("latin-1")


def _request_head(scope: Scope, first: dict[str, Any]) -> tuple[bytes, bool]:
    """The head of a request, given the first piece of its body, and whether the body goes out in chunks."""
    length = dict(scope["headers"]).get(b"content-length")
    if not first.get("more_body"):
        length = b"%d" % len(first.get("body", b""))
    lines = [f"{scope['method']} {_target(scope)} HTTP/1.1".encode("latin-1")]
    lines += [name + b": " + value for name, value in scope["headers"]
              if name not in _HOP_HEADERS | {b"content-length", b"expect"}]
    lines += [b"transfer-encoding: chunked" if length is None else b"content-length: " + length,
              b"connection: close", b"", b""]
    return b"\r\n".join(lines), length is None


async def _send_body(event: dict[str, Any], receive: Receive, writer: asyncio.StreamWriter, chunked: bool) -> None:
    """Passes a body on as it comes, held back where the server reads slowly; returns when the client goes."""
    while event["type"] != "http.disconnect":
        piece, more = event.get("body", b""), event.get("more_body", False)
        if chunked and piece:
            piece = b"%x\r\n%b\r\n" % (len(piece), piece)
        if chunked and not more:
            piece += b"0\r\n\r\n"
        try:
            writer.write(piece)
            await writer.drain()
        except ConnectionError:
            pass  # the server has answered without it
        event = await receive()
    writer.transport.abort()


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, list[tuple[bytes, bytes]]]:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *rest = head[:-4].split(b"\r\n")
    headers = [tuple(part.strip() for part in line.split(b":", 1)) for line in rest]
    return int(first.split(b" ", 2)[1]), [(name.lower(), value) for name, value in headers]


async def _read_body(reader: asyncio.StreamReader, headers: dict[bytes, bytes], none: bool) -> Any:
    if none:
        return
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        while size := int((await reader.readline()).split(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readline()
        return
    left = int(headers[b"content-length"]) if b"content-length" in headers else sys.maxsize
    while left > 0 and (piece := await reader.read(min(left, 1 << 16))):
        left -= len(piece)
        yield piece


app = Relay()

if __name__ == "__main__":
    main()
