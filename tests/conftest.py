"""What every Python test shares: the binary under test, the judge's interpreter, the GPU's absence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(os.environ.get("ASSAY_BIN", ROOT / "build/release/bin/assay"))

# The package is tested from the checkout. Not through PYTHONPATH: the binary must find its own files.
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("ASSAY_PYTHON", sys.executable)


def no_gpu_because() -> str:
    """Why GPU tests cannot run here, or "" when they can. Does not import torch."""
    if not Path("/dev/nvidiactl").exists():
        return "no NVIDIA GPU (no /dev/nvidiactl)"
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"nvidia-smi does not answer: {error}"
    if listed.returncode != 0 or "GPU" not in listed.stdout:
        return f"nvidia-smi finds no GPU: {(listed.stdout + listed.stderr).strip()}"
    return ""


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs an NVIDIA GPU; skipped, with the reason, elsewhere")


def pytest_report_header(config):
    return [f"assay: {BIN}{'' if BIN.exists() else ' (missing)'}",
            f"judge's python: {os.environ['ASSAY_PYTHON']}",
            f"gpu: {no_gpu_because() or 'yes'}"]


def pytest_collection_modifyitems(items):
    """Everything under tests/gpu needs a GPU, and so does what is marked so elsewhere."""
    folder = Path(__file__).resolve().parent / "gpu"
    wanting = [item for item in items
               if folder in item.path.parents or item.get_closest_marker("gpu")]
    if wanting and (reason := no_gpu_because()):
        for item in wanting:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def assay_bin() -> Path:
    """The assay binary. Its absence is a failure: a skip would hide that nothing was tested."""
    if not BIN.exists():
        pytest.fail(f"{BIN} is missing: run `make build`, or set ASSAY_BIN")
    return BIN


@pytest.fixture
def run_assay(assay_bin):
    """run_assay("eval", "--json", ...): runs the binary, returns subprocess.CompletedProcess (text)."""

    def run(*arguments, timeout=300, **options):
        return subprocess.run([str(assay_bin), *map(str, arguments)], capture_output=True, text=True,
                              timeout=timeout, stdin=subprocess.DEVNULL, **options)

    return run
