"""Finds the compiled assay.rl: installed, else in the newest build tree ($ASSAY_BUILD or build/*)."""

import importlib.machinery
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # reference.py and batches.py


def _compiled() -> bool:
    try:
        import assay.rl  # noqa: F401
    except ImportError:
        return False
    return True


def _use_build_tree() -> None:
    build = os.environ.get("ASSAY_BUILD")
    trees = [pathlib.Path(build)] if build else (HERE.parents[1] / "build").glob("*")
    names = ["_core" + suffix for suffix in importlib.machinery.EXTENSION_SUFFIXES]
    modules = [m for t in trees for n in names if (m := t / "python/assay/rl" / n).exists()]
    if modules:
        newest = max(modules, key=lambda m: m.stat().st_mtime)
        sys.path.insert(0, str(newest.parents[2]))
        for name in [n for n in sys.modules if n == "assay" or n.startswith("assay.")]:
            del sys.modules[name]


if not _compiled():
    _use_build_tree()

collect_ignore_glob = [] if _compiled() else ["test_*.py"]


def pytest_terminal_summary(terminalreporter):
    if collect_ignore_glob:
        terminalreporter.write_line(
            "tests/rl: NOT RUN, assay.rl is not built for this Python "
            "(cmake -DASSAY_PYTHON=... with nanobind installed there)",
            yellow=True,
        )


def pytest_report_header():
    if collect_ignore_glob:
        return None
    import assay.rl

    return f"assay.rl from {pathlib.Path(assay.rl.__file__).parent}"
