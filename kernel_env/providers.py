"""Starts the server's container with GPUs, which OpenEnv's own provider cannot ask for."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from typing import Any, Mapping, Optional, Sequence

from openenv.core.containers.runtime import ContainerProvider


class GpuDockerProvider(ContainerProvider):
    """Runs one container on the local Docker daemon.

    gpus: as for `docker run --gpus`; None: none. The container's port is 8000, published on loopback.
    """

    def __init__(self, gpus: Optional[str] = "all", shm_size: str = "2g", ulimits: Sequence[str] = ("memlock=-1",),
                 docker: str = "docker", extra_arguments: Sequence[str] = ()):
        self._gpus = gpus
        self._shm_size = shm_size
        self._ulimits = tuple(ulimits)
        self._docker = docker
        self._extra = tuple(extra_arguments)
        self._container: Optional[str] = None

    def command(self, image: str, port: int, env_vars: Optional[Mapping[str, str]] = None) -> list[str]:
        """The command that start_container runs."""
        command = [self._docker, "run", "--detach", "--rm", "--publish", f"127.0.0.1:{port}:8000",
                   "--shm-size", self._shm_size]
        if self._gpus:
            command += ["--gpus", self._gpus]
        for limit in self._ulimits:
            command += ["--ulimit", limit]
        for name, value in (env_vars or {}).items():
            command += ["--env", f"{name}={value}"]
        return [*command, *self._extra, image]

    def start_container(self, image: str, port: Optional[int] = None, env_vars: Optional[Mapping[str, str]] = None,
                        **kwargs: Any) -> str:
        if kwargs:
            raise TypeError(f"GpuDockerProvider does not know {sorted(kwargs)}; set them in its constructor")
        port = port or _free_port()
        done = subprocess.run(self.command(image, port, env_vars), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"docker run {image} failed: {done.stderr.strip()}")
        self._container = done.stdout.strip()
        return f"http://127.0.0.1:{port}"

    def stop_container(self) -> None:
        if self._container is None:
            return
        container, self._container = self._container, None
        subprocess.run([self._docker, "stop", "--time", "20", container], capture_output=True)

    def wait_for_ready(self, base_url: str, timeout_s: float = 120.0) -> None:
        """Returns when /health answers. The server is healthy before its GPUs are warm."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{base_url}/health", timeout=2) as response:
                    if response.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.5)
        logs = ""
        if self._container:
            found = subprocess.run([self._docker, "logs", "--tail", "20", self._container], capture_output=True, text=True)
            logs = (found.stdout + found.stderr).strip()
        raise TimeoutError(f"{base_url}/health did not answer within {timeout_s:g} s; the container says:\n{logs}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
