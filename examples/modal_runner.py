"""Runs Kernel Env on a rented GPU with Modal, for one command, with a limit in dollars.

    pip install modal && modal setup
    modal run examples/modal_runner.py                         # client_smoke.py on one H100
    GPU=A100-80GB MAX_USD=1 modal run examples/modal_runner.py --command "assay doctor"

Nothing is deployed and nothing stays: the container ends with the command, at the time limit, or when the
elapsed time has cost MAX_USD. Judged submissions are kept in the volume `kernel-env-store`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import modal

ROOT = Path(__file__).resolve().parent.parent
GPU = os.environ.get("GPU", "H100")
MAX_USD = float(os.environ.get("MAX_USD", "2"))
# Dollars an hour, rounded up; only the guard below rests on them. A GPU that is not listed counts as the
# dearest.
PRICES = {"T4": 0.7, "L4": 0.9, "A10": 1.2, "L40S": 2.0, "A100-40GB": 2.2, "A100-80GB": 2.6, "H100": 4.0,
          "H200": 4.6, "B200": 6.3}
SECONDS = int(min(3600.0, 3600 * MAX_USD / PRICES.get(GPU, max(PRICES.values()))))
PORT = 8000

image = (
    modal.Image.from_registry("nvidia/cuda:13.0.1-devel-ubuntu24.04", add_python="3.12")
    .apt_install("git", "curl", "ca-certificates")
    .add_local_dir(ROOT, "/src/assay", copy=True,
                   ignore=["build", "dist", ".venv", ".git", "**/__pycache__", "**/*.so"])
    .run_commands("cd /src/assay && deploy/build_image.sh --prefix /opt/assay --source /src/assay")
    .env({"PATH": "/opt/assay/bin:/opt/assay/python/bin:/usr/local/cuda/bin:/usr/bin:/bin",
          "ASSAY_PYTHON": "/opt/assay/python/bin/python", "GPU": GPU, "MAX_USD": str(MAX_USD)})
)
app = modal.App("kernel-env", image=image)
store = modal.Volume.from_name("kernel-env-store", create_if_missing=True)


@app.function(gpu=GPU, timeout=SECONDS, max_containers=1, retries=0, volumes={"/store": store})
def run(command: str) -> int:
    """Starts the server on loopback, runs the command beside it, stops both."""
    started = time.monotonic()
    server = subprocess.Popen(["assay", "serve", "--port", str(PORT), "--store", "/store/serve.db"])
    try:
        wait_for_port(server, deadline=started + 120)
        left = SECONDS - (time.monotonic() - started) - 30
        try:
            code = subprocess.run(shlex.split(command), cwd="/src/assay", timeout=max(left, 1)).returncode
        except subprocess.TimeoutExpired:
            print(f"stopped: {MAX_USD} dollars of {GPU} are used up", file=sys.stderr)
            code = 124
    finally:
        server.terminate()
        try:
            server.wait(25)
        except subprocess.TimeoutExpired:
            server.kill()
        store.commit()
    print(f"{time.monotonic() - started:.0f} s on {GPU}")
    return code


def wait_for_port(server: subprocess.Popen, deadline: float) -> None:
    import urllib.error
    import urllib.request

    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError(f"assay serve ended with code {server.returncode}")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=2)
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise TimeoutError("assay serve does not answer")


@app.local_entrypoint()
def main(command: str = f"python examples/client_smoke.py --url http://127.0.0.1:{PORT}") -> None:
    print(f"{GPU} for at most {SECONDS} s ({MAX_USD} dollars)")
    sys.exit(run.remote(command))
