"""Runs one collection of submissions (tests/zoo, tests/honest) through the binary, once a session.

The device is ASSAY_TEST_DEVICE, cpu (the default) or cuda. What is marked slow runs with
ASSAY_TEST_SLOW=1.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

DEVICE = os.environ.get("ASSAY_TEST_DEVICE", "cpu")
SLOW = os.environ.get("ASSAY_TEST_SLOW") == "1"
TIMEOUT_S = 1500  # a hang, not a slow machine


def names(folder: Path) -> list:
    """Every submission of a folder as a pytest parameter."""
    found = []
    for path in sorted(folder.glob("*.py")):
        if path.name.startswith(("test_", "conftest", "_")):
            continue
        slow = re.search(r"^Slow: yes$", path.read_text(), re.M) is not None
        skip = pytest.mark.skipif(slow and not SLOW, reason="slow; ASSAY_TEST_SLOW=1 runs it")
        found.append(pytest.param(path.stem, marks=skip, id=path.stem))
    return found


def run(binary: Path, command: str, *arguments, timeout: float = TIMEOUT_S) -> subprocess.CompletedProcess:
    return subprocess.run([str(binary), command, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=timeout, check=False)


def judge(binary: Path, command: str, folder: Path, session: pytest.Session) -> dict[str, dict]:
    """The rows of all submissions that the session's tests ask for, by name."""
    wanted = set()
    for item in session.items:
        name = getattr(item, "callspec", None) and item.callspec.params.get("submission")
        if name and item.path.parent == folder and not any(m.args[0] for m in item.iter_markers("skipif")):
            wanted.add(name)
    only = [word for name in sorted(wanted) for word in ("--only", name)]
    done = run(binary, command, folder, "--device", DEVICE, "--json", *only)
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "assay.zoo/1" and document["device"] == DEVICE
    rows = {row["name"]: row for row in document["entries"]}
    assert wanted <= set(rows)
    wrong = {name for name, row in rows.items() if row["outcome"] in ("WRONG", "MENDED")}
    assert document["wrong"] == len(wrong) and (done.returncode == 1) == bool(wrong), done.stderr
    return rows


def check(row: dict) -> None:
    """Fails, skips or expects the failure as the row says."""
    if row["outcome"] == "skipped":
        pytest.skip(row["why"])
    if row["outcome"] == "known":
        pytest.xfail(row["why"])
    assert row["outcome"] == "ok", f"{row['title']}\n{row['path']}\n{row['why']}\n{row.get('correctness')}"
