"""`assay zoo`: no hostile submission is paid, and the command itself cannot be fooled by its files."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from _collection import check, judge, names, run  # noqa: E402

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def rows(request, assay_bin):
    return judge(assay_bin, "zoo", HERE, request.session)


@pytest.mark.parametrize("submission", names(HERE))
def test_is_not_paid(submission, rows):
    check(rows[submission])


GOOD = '"""A title.\n\nTask: assay/relu\nTrick: t\nSource: s\nDevice: any\nExpect: incorrect\nRun: check\n"""\n'
ZEROS = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
"""
HONEST = ZEROS.replace("zeros_like", "relu")


@pytest.mark.parametrize(
    "text, says",
    [
        ("import torch\n", "does not begin with a docstring"),
        ('"""A title.', "docstring does not end"),
        ('"""\n\nTask: assay/relu\n"""', "first line of its docstring is empty"),
        (GOOD.replace("Task: assay/relu\n", ""), "'Task' is missing"),
        (GOOD.replace("Source: s\n", ""), "'Source' is missing"),
        (GOOD.replace("Trick", "Trikc"), "there is no key 'Trikc'"),
        (GOOD.replace("Trick: t", "Trick: t\nTrick: u"), "'Trick' is given twice"),
        (GOOD.replace("incorrect", "incorect"), "'incorect' is no status"),
        (GOOD.replace("incorrect", "infra_error"), "'infra_error' is no status"),
        (GOOD.replace("any", "tpu"), "'tpu' is no device"),
        (GOOD.replace("Run: check", "Run: never"), "neither timed nor check"),
        (GOOD.replace("Run: check", "MaxSpeedup: -1"), "no positive number"),
        (GOOD.replace("Run: check", "Twin: nobody"), "no other entry 'nobody'"),
        (GOOD.replace("Run: check\n", "").replace("incorrect", "correct"), "'Twin' or a 'MaxSpeedup'"),
        (GOOD.replace("Run: check\n", "").replace("incorrect", "incorrect\nExpect-cuda: correct"), "'Twin' or a"),
        (GOOD.replace("assay/relu", "assay/rleu"), "assay/rleu"),
    ],
)
def test_bad_headers_are_refused(assay_bin, tmp_path, text, says):
    (tmp_path / "entry.py").write_text(text + ZEROS)
    done = run(assay_bin, "zoo", tmp_path, "--device", "cpu", timeout=60)
    assert done.returncode == 2 and says in done.stderr, done.stderr
    assert "entry.py" in done.stderr


@pytest.mark.parametrize("arguments, says", [(["no-such-folder"], "no-such-folder"), (["--only", "zzz"], "zzz")])
def test_nothing_to_judge_is_an_error(assay_bin, arguments, says):
    done = run(assay_bin, "zoo", *arguments, timeout=60)
    assert done.returncode == 2 and says in done.stderr


def test_an_empty_folder_is_an_error(assay_bin, tmp_path):
    (tmp_path / "test_something.py").write_text("")
    done = run(assay_bin, "zoo", tmp_path, timeout=60)
    assert done.returncode == 2 and "no submissions" in done.stderr


def test_lists_without_judging(assay_bin):
    done = run(assay_bin, "zoo", HERE, "--list", "--only", "memo_by_*", timeout=60)
    listed = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert done.returncode == 0 and "memo_by_pointer" in listed and "twin_relu" in listed
    assert all(name.startswith(("memo_by_", "twin_")) for name in listed)


def test_wrong_verdicts_are_told_apart(assay_bin, tmp_path):
    """A wrong status, a missing flag, a wrong error, a known hole, a mended one, one for another device."""
    entries = {
        "right": GOOD + ZEROS,
        "paid": GOOD + HONEST,
        "flag": GOOD.replace("Run: check", "Run: check\nFlags: output_reused") + ZEROS,
        "error": GOOD.replace("Run: check", "Run: check\nError: crash SIGSEGV") + ZEROS,
        "known": GOOD.replace("Run: check", "Run: check\nKnown: still open") + HONEST,
        "mended": GOOD.replace("Run: check", "Run: check\nKnown: still open") + ZEROS,
        "elsewhere": GOOD.replace("any", "cuda") + ZEROS,
        "needs": GOOD.replace("Run: check", "Run: check\nNeeds: no-such-program python:no_such_module") + ZEROS,
    }
    for name, text in entries.items():
        (tmp_path / f"{name}.py").write_text(text)
    done = run(assay_bin, "zoo", tmp_path, "--device", "cpu", "--json", "--verdicts", tmp_path / "v.jsonl", timeout=300)
    assert done.returncode == 1, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)["entries"]}
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "right": "ok", "paid": "WRONG", "flag": "WRONG", "error": "WRONG", "known": "known", "mended": "MENDED",
        "elsewhere": "skipped", "needs": "skipped"}
    assert "judged correct" in rows["paid"]["why"] and "output_reused" in rows["flag"]["why"]
    assert "still open" in rows["known"]["why"] and "no-such-program" in rows["needs"]["why"]
    assert "CUDA" in rows["elsewhere"]["why"]
    assert len((tmp_path / "v.jsonl").read_text().splitlines()) == 6
    table = run(assay_bin, "zoo", tmp_path, "--device", "cpu", "--only", "right", "--only", "elsewhere", timeout=300)
    assert table.returncode == 0 and "1 right, 0 wrong, 0 known to be wrong, 1 skipped" in table.stdout


SLEEPS = """
import time

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        time.sleep(PAUSE)
        return torch.relu(x)
"""


def test_a_time_above_its_twin_or_its_limit_is_wrong(assay_bin, tmp_path):
    """Sleeps of very different length stand for times that were paid wrongly; noise cannot blur them."""
    task = tmp_path / "tasks" / "sleepy.py"
    task.parent.mkdir()
    task.write_text(SLEEPS.replace("ModelNew", "Model").replace("PAUSE", "0.02") + """

def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
""")

    def write(name, pause, header):
        head = GOOD.replace("Run: check", header).replace("incorrect", "correct").replace("assay/relu", str(task))
        (tmp_path / f"{name}.py").write_text(head + SLEEPS.replace("PAUSE", pause))

    write("honest", "0.06", "MaxSpeedup: 2")
    write("faster", "0.002", "Twin: honest")
    write("slower", "0.1", "Twin: honest")
    write("limited", "0.02", "MaxSpeedup: 0.01")
    write("lazy", "0.02", "MinSpeedup: 100\nMaxSpeedup: 1000")
    done = run(assay_bin, "zoo", tmp_path, "--device", "cpu", "--json", timeout=300)
    rows = {row["name"]: row for row in json.loads(done.stdout)["entries"]}
    outcomes = {name: (row["outcome"], row["why"], row.get("speedup")) for name, row in rows.items()}
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "honest": "ok", "faster": "WRONG", "slower": "ok", "limited": "WRONG", "lazy": "WRONG"}, outcomes
    assert "its honest twin" in rows["faster"]["why"] and "more than" in rows["limited"]["why"]
    assert "less than" in rows["lazy"]["why"]
