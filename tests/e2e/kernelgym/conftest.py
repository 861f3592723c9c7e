"""A real `assay serve` with KernelGYM's API, and clients that know only the protocol."""

import json
import os
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # kernelgym_sources


@dataclass
class Reply:
    status: int
    headers: dict
    body: object


@dataclass
class Gym:
    """Plain HTTP to one server."""

    url: str
    key: str = ""

    def call(self, method: str, path: str, body=None, timeout: float = 300) -> Reply:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        if self.key:
            request.add_header("Authorization", f"Bearer {self.key}")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return Reply(answer.status, dict(answer.headers), json.load(answer))
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            return Reply(error.code, dict(error.headers), json.loads(text) if text else None)

    def get(self, path: str) -> Reply:
        return self.call("GET", path)

    def post(self, path: str, body=None, **options) -> Reply:
        return self.call("POST", path, body, **options)

    def wait_for(self, task_id: str, statuses: set, limit: float = 120) -> dict:
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            reply = self.get(f"/status/{task_id}")
            if reply.status == 200 and reply.body["status"] in statuses:
                return reply.body
            time.sleep(0.1)
        raise AssertionError(f"{task_id} did not become one of {statuses}")


@dataclass
class Server:
    """One server process; `kill` is SIGKILL, after which `start` goes on with the same store."""

    command: list
    log: str
    process: subprocess.Popen | None = None
    gym: Gym | None = None
    ready: dict = field(default_factory=dict)

    def start(self, key: str = "") -> "Server":
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
            )
        if not select.select([self.process.stdout], [], [], 180)[0]:
            self.process.kill()
            raise AssertionError("not ready in 180 s: " + open(self.log).read()[-3000:])
        line = self.process.stdout.readline()
        assert line, open(self.log).read()[-3000:]
        self.ready = json.loads(line)
        self.gym = Gym(f"http://127.0.0.1:{self.ready['kernelgym_port']}", key)
        return self

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)
        self.process.stdout.close()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(30)
        if not self.process.stdout.closed:
            self.process.stdout.close()


@pytest.fixture(scope="session")
def make_server(assay_bin, tmp_path_factory):
    """make_server(*options) -> a started Server on a store of its own; stopped at the end."""
    started = []

    def make(*options, key: str = "") -> Server:
        folder = tmp_path_factory.mktemp("serve")
        device = os.environ.get("ASSAY_TEST_DEVICE", "cpu")
        command = [str(assay_bin), "serve", "--port", "0", "--kernelgym-port", "0", "--json",
                   "--device", device, "--store", str(folder / "serve.db"), *map(str, options)]
        server = Server(command, str(folder / "log"))
        started.append(server)
        return server.start(key)

    yield make
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def server(make_server) -> Server:
    """One engine for all tests that leave it as it was."""
    return make_server("--jobs", 2)


@pytest.fixture(scope="session")
def gym(server) -> Gym:
    return server.gym
