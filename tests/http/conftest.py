"""Fixtures: servers and keys."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from serving import Server  # noqa: E402


@pytest.fixture
def serve(assay_bin, tmp_path):
    """serve("--option", ...) starts a server; the fixture ends it."""
    servers = []

    def start(*arguments, store=None, **options):
        servers.append(Server(assay_bin, store or tmp_path / "store.db", *arguments, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


@pytest.fixture
def new_key(run_assay, tmp_path):
    """new_key("name", "scope") adds a key to `path` and returns it."""
    path = tmp_path / "keys.txt"

    def make(name, scope):
        result = run_assay("keys", "new", "--name", name, "--scope", scope, "--file", path)
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    make.path = path
    return make


@pytest.fixture
def certificate(tmp_path):
    """certificate("name") makes a certificate and key; a second call replaces them."""
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command is missing")

    def make(name):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
             "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"], check=True, capture_output=True)
        return tmp_path / "cert.pem", tmp_path / "key.pem"

    return make
