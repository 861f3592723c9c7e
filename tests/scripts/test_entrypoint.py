"""deploy/entrypoint.sh, the container's command, around the real server."""

import json
import os
import subprocess
import urllib.error
import urllib.request

import pytest


@pytest.fixture
def entrypoint(assay_bin, root, tmp_path):
    """entrypoint("--option", ..., NAME="value") starts it as the container does; the port it serves."""
    processes = []

    def start(*arguments, **variables):
        path = f"{assay_bin.parent}:{os.environ['PATH']}"
        store = str(tmp_path / f"{len(processes)}.db")
        processes.append(subprocess.Popen(
            [root / "deploy/entrypoint.sh", "--runner", "echo", "--json", *arguments], stdout=subprocess.PIPE,
            env={**os.environ, "PATH": path, "PORT": "0", "ASSAY_STORE": store, **variables}))
        line = processes[-1].stdout.readline()
        assert line, "it did not start"
        return json.loads(line)["port"]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def status(port, host, origin=""):
    """Of a POST as a browser sends it for a page at `origin`."""
    headers = {"Host": host, "Content-Type": "application/json", **({"Origin": origin} if origin else {})}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/reset", b"{}", headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def test_no_web_page_reaches_a_published_port_by_a_name_of_its_own(entrypoint):
    port = entrypoint()
    for host in ("127.0.0.1", "localhost", "[::1]", "10.0.0.7"):
        assert status(port, f"{host}:{port}") == 200, host
    assert status(port, f"evil.example:{port}", f"http://evil.example:{port}") == 421


def test_the_operator_gives_other_names(entrypoint):
    for port in (entrypoint(KERNEL_ENV_ALLOW_HOSTS="gpu-box, kernel-env"), entrypoint("--allow-host", "gpu-box")):
        assert status(port, f"gpu-box:{port}") == status(port, f"localhost:{port}") == 200
        assert status(port, f"evil.example:{port}") == 421


def test_with_keys_no_others_are_let_in(entrypoint, run_assay, tmp_path):
    keys = tmp_path / "keys"
    assert run_assay("keys", "new", "--name", "me", "--scope", "submit", "--file", keys).returncode == 0
    for name in ("ASSAY_API_KEY_FILE", "KERNEL_ENV_API_KEY_FILE"):
        assert status(entrypoint(**{name: str(keys)}), "any.example") == 401
