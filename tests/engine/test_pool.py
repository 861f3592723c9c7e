"""Candidates and device memory are dealt out with care: each candidate costs the device a context."""

import json

import pytest

from engine_harness import DEVICE, HERE, HONEST

TASK = HERE / "tasks/relu.py"


def forked(stderr):
    """Candidates that the pool made ahead."""
    return stderr.count(": forked in")


def test_one_submission_makes_one_candidate(run_assay, tmp_path):
    (tmp_path / "submission.py").write_text(HONEST)
    done = run_assay("--log-level", "debug", "eval", "--device", DEVICE, "--no-time", "--json", "--task", TASK,
                     tmp_path / "submission.py")
    assert json.loads(done.stdout)["status"] == "correct" and forked(done.stderr) == 1


@pytest.mark.parametrize("count, pool", [(3, 8), (5, 2)])
def test_a_batch_makes_as_many_as_it_has_lines(run_assay, tmp_path, count, pool):
    lines = [{"id": f"{i}", "task": str(TASK), "source": HONEST + f"\n# {i}\n"} for i in range(count)]
    (tmp_path / "batch.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run_assay("--log-level", "debug", "eval", "--device", DEVICE, "--no-time", "--jobs", 2, "--pool", pool,
                     "--batch", tmp_path / "batch.jsonl")
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [verdict["status"] for verdict in verdicts] == ["correct"] * count
    assert forked(done.stderr) == count


SHORT = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 6.00 GiB.")
"""


def test_what_finds_no_device_memory_is_judged_once_more(run_assay, tmp_path):
    """Neither what the judge keeps for speed nor what a neighbour took decides; the second time it keeps nothing."""
    (tmp_path / "submission.py").write_text(SHORT)
    done = run_assay("--log-level", "info", "eval", "--device", DEVICE, "--no-time", "--json", "--task", TASK,
                     tmp_path / "submission.py")
    assert json.loads(done.stdout)["status"] == "out_of_memory"
    assert done.stderr.count("judged again when those beside it have ended") == 1
