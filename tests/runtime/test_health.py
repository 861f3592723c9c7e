"""The health screen: it finds what trivial programs pass, and accuses nothing else."""

import json
import subprocess
import sys

import pytest

from assay.runtime import health, task

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 64))

    def forward(self, x, y):
        return {body}


def get_inputs():
    return [torch.{draw}(128, 64), torch.{draw}(128, 64)]


def get_init_inputs():
    return []
"""


@pytest.fixture
def screened(tmp_path):
    def screened(body, draw="rand", limit_s=60.0):
        loaded = task.Task(TASK.format(body=body, draw=draw), "Model", "cpu", "cpu", str(tmp_path))
        return health.screen(loaded, limit_s)

    return screened


def found(report, family, rule="assay"):
    return {f["program"] for f in report["findings"] if f["family"] == family and rule in f["rules"]}


def test_a_sound_task_has_no_findings(screened):
    report = screened("torch.relu(x @ self.weight) * y")
    assert report["void"] == "" and report["findings"] == [] and report["unused_inputs"] == []
    assert report["families"] == ["native", "rare", "signed", "scaled"]


@pytest.mark.parametrize("body, program", [
    ("torch.relu((x * 0.01) @ self.weight * 0.001 - 2) * y", "zeros"),
    ("torch.ones_like(x) + 0 * y", "ones"),
    ("torch.full_like(x, 3.5)", "constant"),
    ("self.weight.sum(0) + 0 * x", "previous"),
    ("x + 0 * y", "input[0]"),
])
def test_what_passes_in_every_family_voids_the_task(screened, body, program):
    report = screened(body)
    assert report["void"] == program
    assert all(program in found(report, family) for family in report["families"])


def test_the_identity_on_positive_inputs_is_told_but_voids_nothing(screened):
    report = screened("torch.relu(x) + 0 * y")
    assert "input[0]" in found(report, "native")
    assert "input[0]" not in found(report, "signed") and report["void"] == ""


def test_small_outputs_are_void_for_kernelbench_and_no_excuse_here(screened):
    report = screened("(x @ self.weight) * y * 1e-6")
    assert report["void"] == "" and report["void_kernelbench"] == "zeros"


def test_a_nearly_constant_output_is_void_at_a_loose_tolerance_only(screened):
    report = screened("1 + 5e-3 * (x + y) / (x + y).abs().amax()")
    assert (report["void"], report["void_kernelbench"], report["void_half"]) == ("", "", "ones")


def test_unused_inputs_and_weights_are_told(screened):
    report = screened("x.exp()")
    assert report["unused_inputs"] == [1]
    assert "other_weights" in found(report, "native") and report["void"] == ""


def test_inputs_that_never_change_void_the_task(tmp_path):
    text = TASK.format(body="x @ self.weight + y", draw="randn")
    for seeds in ("torch.manual_seed(3)\n    return", "return [t.clone() for t in SAME]\nSAME ="):
        loaded = task.Task(text.replace("    return [torch.randn(128", f"    {seeds} [torch.randn(128"), "Model", "cpu",
                           "cpu", str(tmp_path))
        assert loaded.same_inputs
        report = health.screen(loaded)
        assert report["void"] == "previous"
    assert not task.Task(text, "Model", "cpu", "cpu", str(tmp_path)).same_inputs


def test_time_is_bounded(screened):
    with pytest.raises(health.OutOfTime):
        screened("x + y", limit_s=0.0)


def test_many_tasks_as_lines_and_a_broken_one_among_them(tmp_path, root):
    sources = [TASK.format(body=body, draw="rand") for body in ("x - y", "x.nonsense()", "torch.zeros_like(x)")]
    lines = tmp_path / "tasks.jsonl"
    lines.write_text("".join(json.dumps({"id": f"t/{i}", "source": s}) + "\n" for i, s in enumerate(sources)))
    done = subprocess.run([sys.executable, "-m", "assay.runtime.health", str(lines)], capture_output=True, text=True,
                          env={"PYTHONPATH": str(root / "python"), "PATH": "/usr/bin:/bin"}, timeout=300)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["id"] for r in reports] == ["t/0", "t/1", "t/2"]
    assert reports[0]["void"] == "" and "nonsense" in reports[1]["error"] and reports[2]["void"] == "zeros"
    assert len(reports[0]["sha256"]) == 64
