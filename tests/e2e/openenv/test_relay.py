"""The ASGI application for launchers that want Python: everything passes through unchanged."""

import http.client
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest


@pytest.fixture
def relay(openenv_python, assay_bin, tmp_path):
    """uvicorn with kernel_env.server.app, as OpenEnv's launchers start it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (tmp_path / "uvicorn.log").open("w")
    process = subprocess.Popen(
        [openenv_python, "-m", "uvicorn", "kernel_env.server.app:app", "--host", "127.0.0.1", "--port", str(port)],
        stdout=log, stderr=log,
        env={**os.environ, "ASSAY_BIN": str(assay_bin), "KERNEL_ENV_GPUS": "", "XDG_STATE_HOME": str(tmp_path),
             "KERNEL_ENV_ALLOW_HOSTS": "gpu-box"})
    url = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            urllib.request.urlopen(url + "/health", timeout=1)
            break
        except (urllib.error.URLError, OSError):
            assert process.poll() is None, (tmp_path / "uvicorn.log").read_text()
            time.sleep(0.2)
    yield openenv_python, url
    process.terminate()
    process.wait(60)


def test_clients_through_the_relay(relay, run_client):
    python, url = relay
    for check in ("errors", "models", "urls", "tool_client"):
        run_client(python, check, url, timeout=300)


def test_hosts_and_origins_are_the_clients(relay):
    """The server behind it decides by the names that the client used."""
    address = relay[1].removeprefix("http://")
    port = address.split(":")[1]

    def ask(path, **headers):
        connection = http.client.HTTPConnection(address, timeout=30)
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status

    def upgrade(host, origin):
        return ask("/ws", Host=host, Origin=origin, Connection="Upgrade", Upgrade="websocket",
                   **{"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="})

    assert ask("/health", Host=f"gpu-box:{port}") == ask("/health", Host=f"10.0.0.7:{port}") == 200
    assert ask("/health", Host=f"evil.example:{port}") == 421
    for host in (f"gpu-box:{port}", f"localhost:{port}", f"127.0.0.1:{port}", "gpu-box"):
        assert upgrade(host, f"http://{host}") == 101, host
    assert upgrade(f"gpu-box:{port}", "http://evil.example") == 403
    assert upgrade(f"evil.example:{port}", f"http://evil.example:{port}") == 403
    assert upgrade("user:password@gpu-box", "http://gpu-box") == 403


def test_bodies_are_passed_on_as_they_come(relay):
    """What is too large is refused at its first pieces, not after the last."""
    address = relay[1].removeprefix("http://")

    def post(body, chunked):
        connection = http.client.HTTPConnection(address, timeout=60)
        connection.request("POST", "/reset", body, {"Content-Type": "application/json"}, encode_chunked=chunked)
        return connection.getresponse()

    assert post(b'{"task_id": "assay/relu"}', False).status == 200
    assert post(iter([b'{"task_id": ', b'"assay/relu"}']), True).status == 200
    endless = socket.create_connection((address.split(":")[0], int(address.split(":")[1])), timeout=60)
    endless.sendall(b"POST /reset HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n")
    try:
        for _ in range(32):
            endless.sendall(b"100000\r\n" + bytes(1 << 20) + b"\r\n")
    except ConnectionError:
        pass  # it is refused already
    assert b" 413 " in endless.recv(65536)
