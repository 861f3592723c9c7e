"""Finds assay.rl's compiled part: installed, else in a build tree ($ASSAY_BUILD_DIR, else the newest of
build/*). Its absence fails these tests: a skip would hide that nothing was tested."""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))  # reference.py and batches.py


def _compiled() -> bool:
    try:
        import assay.rl  # noqa: F401
    except ImportError:
        return False
    return True


def _load_from_build_tree() -> None:
    """Puts the built module under its name; the package itself stays the source tree's, so that other
    tests of this session keep the modules they have."""
    build = os.environ.get("ASSAY_BUILD_DIR")
    trees = [pathlib.Path(build)] if build else (ROOT / "build").glob("*")
    names = ["_core" + suffix for suffix in importlib.machinery.EXTENSION_SUFFIXES]
    modules = [m for t in trees for n in names if (m := t / "python/assay/rl" / n).exists()]
    if not modules:
        return
    if str(ROOT / "python") not in sys.path:
        sys.path.append(str(ROOT / "python"))
    newest = max(modules, key=lambda m: m.stat().st_mtime)
    spec = importlib.util.spec_from_file_location("assay.rl._core", newest)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["assay.rl._core"] = module


if not _compiled():
    _load_from_build_tree()


def pytest_report_header():
    if not _compiled():
        return "assay.rl is not built for this Python"
    import assay.rl

    return f"assay.rl with {assay.rl._core.__file__}"


@pytest.fixture
def served(assay_bin, tmp_path):
    """A real server of this binary, judging on the CPU."""
    command = [
        assay_bin, "serve", "--port", "0", "--device", "cpu", "--jobs", "2", "--python",
        os.environ["ASSAY_PYTHON"], "--store", tmp_path / "store", "--json",
    ]  # fmt: skip
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        line = server.stdout.readline()
        assert line, (tmp_path / "log").read_text()[-2000:]
        yield re.search(r"http://[^\s\"]+", line).group().rstrip("/")
    finally:
        server.terminate()
        server.wait(30)
