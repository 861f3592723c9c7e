"""Real servers, and the official clients from the package index, each in an environment of its own."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("ASSAY_TEST_CACHE", Path.home() / ".cache/assay-tests"))

# What each environment holds. The two OpenEnv distributions share one import package, so they cannot be
# in the same one.
ENVIRONMENTS = {
    "openenv-core-0.3.0": ["openenv-core==0.3.0"],
    "openenv": ["openenv"],
    "mcp": ["mcp"],
    "trl": ["trl", "openenv", "jmespath"],
}
OPENENVS = ["openenv-core-0.3.0", "openenv"]
USE_KERNEL_ENV = [*OPENENVS, "trl"]
# These see the packages of the interpreter that runs the tests: torch is five gigabytes.
OVER_TORCH = ["trl"]


class Environments:
    """Virtual environments, made when first asked for and kept in the cache."""

    def __init__(self) -> None:
        self._made: dict[str, Path] = {}

    def python(self, name: str) -> Path:
        """The interpreter of an environment. Skips the test where the index cannot be reached."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Path:
        requirements = ENVIRONMENTS[name]
        seen = sys.prefix if name in OVER_TORCH else ""
        key = hashlib.sha256(f"{requirements}{sys.version}{seen}".encode()).hexdigest()[:12]
        folder = CACHE / f"{name}-{key}"
        python = folder / "bin/python"
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, with_pip=True)
            if name in OVER_TORCH:
                self._show_torch(folder)
            done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                                   *requirements], capture_output=True, text=True)
            if done.returncode != 0:
                shutil.rmtree(folder, ignore_errors=True)
                pytest.skip(f"NOT TESTED: {' '.join(requirements)} cannot be installed here: "
                            f"{done.stderr.strip().splitlines()[-1:]}")
            (folder / "complete").touch()
        if name in USE_KERNEL_ENV:
            self._install_kernel_env(python)
        return python

    @staticmethod
    def _show_torch(folder: Path) -> None:
        torch = importlib.util.find_spec("torch")
        if torch is None:
            shutil.rmtree(folder)
            pytest.skip("NOT TESTED: the interpreter that runs the tests has no torch")
        site = next(folder.glob("lib/python*/site-packages"))
        (site / "torch.pth").write_text(f"{Path(torch.origin).parents[1]}\n")

    @staticmethod
    def _install_kernel_env(python: Path) -> None:
        """As users do, from a copy: building leaves files in the source folder."""
        copy = CACHE / "kernel_env"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(ROOT / "kernel_env", copy, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall",
                        "--no-deps", str(copy)], check=True, capture_output=True)


@pytest.fixture(scope="session")
def environments() -> Environments:
    return Environments()


@pytest.fixture(params=OPENENVS)
def openenv_python(request, environments: Environments) -> Path:
    """The interpreter of each OpenEnv environment in turn."""
    return environments.python(request.param)


class Server:
    """A running `assay serve`."""

    def __init__(self, binary: Path, folder: Path, arguments: list[str], env: dict[str, str]):
        self.store = folder / "serve.db"
        self._command = [str(binary), "serve", "--json", "--store", str(self.store), *arguments]
        self._env = {**os.environ, **env}
        self._log = folder / "serve.log"
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        log = self._log.open("a")
        self.process = subprocess.Popen([*self._command, "--port", str(self.port)], stdout=subprocess.PIPE,
                                        stderr=log, text=True, env=self._env)
        line = self.process.stdout.readline()
        assert line, f"assay serve did not start: {self._log.read_text()[-2000:]}"
        self.port = json.loads(line)["port"]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return self._log.read_text()

    def kill(self) -> None:
        """As a crash: no goodbye."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.terminate()
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


@pytest.fixture
def serve(assay_bin, tmp_path):
    """Starts servers; all are stopped at the end. Options: arguments, and environment variables by name."""
    servers = []

    def start(*arguments: str, **env: str) -> Server:
        folder = tmp_path / f"server{len(servers)}"
        folder.mkdir()
        server = Server(assay_bin, folder, list(arguments), env)
        servers.append(server)
        return server

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture(scope="session")
def echo_server(assay_bin, tmp_path_factory):
    """A server that judges nothing and answers at once: for the protocol."""
    server = Server(assay_bin, tmp_path_factory.mktemp("echo"), ["--runner", "echo"], {})
    yield server
    server.stop()


@pytest.fixture(scope="session")
def cpu_server(assay_bin, tmp_path_factory):
    """A server that judges on the CPU: verdicts are real, times are not."""
    server = Server(assay_bin, tmp_path_factory.mktemp("cpu"), ["--device", "cpu"], {})
    yield server
    server.stop()


@pytest.fixture(scope="session")
def run_client():
    """Runs one check of clients/checks.py; its output. A failed check fails the test with its traceback."""

    def run(python: Path, name: str, *arguments: str, timeout: float = 120) -> str:
        done = subprocess.run([python, HERE / "clients/checks.py", name, *arguments], capture_output=True, text=True,
                              timeout=timeout)
        assert done.returncode == 0, f"{name} in {python}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    return run
