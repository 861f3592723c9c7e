"""Fixtures of the engine's tests: what is planted on the host, and the verdicts of each run."""

import secrets
import socket
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from engine_harness import DEVICE, Batches, selected  # noqa: E402


def pytest_report_header(config):
    return f"engine tests: device {DEVICE}"


class Listener:
    """A server on this machine that a submission must not reach; counts who came."""

    def __init__(self, family, address):
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.bind(address)
        self.socket.listen(64)
        self.visitors = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.visitors += 1
            client.close()


@pytest.fixture(scope="session")
def planted(tmp_path_factory):
    """Things on the host that no submission may find, and the marks by which it would know them."""

    class Planted:
        folder = tmp_path_factory.mktemp("host")
        key = f"ASSAY-KEY-{secrets.token_hex(8)}"
        neighbour = f"ASSAY-NEIGHBOUR-{secrets.token_hex(8)}"
        unique = f"assay-test-{secrets.token_hex(8)}"
        server = Listener(socket.AF_INET, ("127.0.0.1", 0))
        abstract = Listener(socket.AF_UNIX, "\0" + unique)

    Planted.host_file = Planted.folder / "host-file"
    Planted.host_file.write_text(Planted.neighbour)
    Planted.key_file = Planted.folder / "key"
    Planted.key_file.write_text(Planted.key)
    Planted.substitutions = {
        "HOST_FILE": str(Planted.host_file),
        "NEIGHBOUR": Planted.neighbour,
        "UNIQUE": Planted.unique,
        "ABSTRACT": Planted.unique,
        "PORT": str(Planted.server.socket.getsockname()[1]),
    }
    return Planted


@pytest.fixture(scope="session")
def batches(request, assay_bin, tmp_path_factory, planted):
    return Batches(assay_bin, tmp_path_factory.mktemp("batches"), selected(request.session), planted.substitutions,
                   planted.key_file)
