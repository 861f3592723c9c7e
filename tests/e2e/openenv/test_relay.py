"""The ASGI application for launchers that want Python: everything passes through unchanged."""

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
        env={**os.environ, "ASSAY_BIN": str(assay_bin), "KERNEL_ENV_GPUS": "", "XDG_STATE_HOME": str(tmp_path)})
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
