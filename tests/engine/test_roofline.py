"""A verdict's roofline, and the gate for times that cannot be."""

import json
import os
import subprocess

import pytest

from engine_harness import HERE

TASK = HERE / "tasks" / "relu.py"
SUBMISSION = HERE / "submissions" / "honest" / "torch_relu_timed.py"


@pytest.fixture(scope="module")
def calibrated(assay_bin, tmp_path_factory):
    """Runs the program with a calibration of this processor of its own; the path of its file."""
    cache = tmp_path_factory.mktemp("cache")
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "CUDA_VISIBLE_DEVICES": ""}

    def run(*arguments):
        return subprocess.run([str(assay_bin), *map(str, arguments)], capture_output=True, text=True,
                              timeout=600, env=environment)

    done = run("calibrate", "--device", "cpu", "--quick")
    assert done.returncode == 0, done.stderr
    [path] = cache.rglob("*.json")
    return run, path


def judged(run, task=TASK, submission=SUBMISSION, *arguments):
    done = run("eval", "--task", task, submission, "--device", "cpu", "--json", *arguments)
    verdict = json.loads(done.stdout)
    assert verdict["status"] == "correct", verdict["feedback"]
    return verdict


def rewarded(run, verdict, tmp_path, *arguments):
    file = tmp_path / "verdict.json"
    file.write_text(json.dumps(verdict))
    done = run("reward", file, "--json", *arguments)
    return done.returncode, done.stdout + done.stderr


def test_a_calibrated_processor_gives_fractions_and_the_default_reward(calibrated, tmp_path):
    run, _ = calibrated
    verdict = judged(run)
    roofline = verdict["roofline"]
    assert 0 < roofline["fraction"] <= 1 and roofline["source"] == "calibrated"
    assert 0 < roofline["bound_us"] <= roofline["calibrated_us"]
    assert roofline["bytes"] > 0 and "superluminal" not in verdict["flags"]
    assert "Roofline:" in verdict["feedback"]
    code, said = rewarded(run, verdict, tmp_path)
    assert code == 0 and 0.3 < json.loads(said)["reward"] <= 3


def test_a_time_below_the_bound_is_measured_again_flagged_and_not_paid(calibrated, tmp_path):
    run, path = calibrated
    document = json.loads(path.read_text())
    slow = json.loads(json.dumps(document))
    for group in ("bandwidth_gbs", "tflops", "best_gbs", "best_tflops"):
        slow[group] = {name: rate and rate / 1e7 for name, rate in slow.get(group, {}).items()}
    path.write_text(json.dumps(slow))
    try:
        verdict = judged(run)
    finally:
        path.write_text(json.dumps(document))
    assert {"superluminal", "audited"} <= set(verdict["flags"])
    assert verdict["roofline"]["bound_us"] > verdict["timing"]["candidate_us"]["median"]
    assert verdict["id"].startswith("sub-") and "/" not in verdict["id"]
    for mode in ("roofline", "speedup", "kevin"):
        _, said = rewarded(run, verdict, tmp_path, "--mode", mode)
        assert json.loads(said)["masked"], said


def test_algebra_that_spares_arithmetic_is_paid_once_an_override_says_so(calibrated, tmp_path):
    run, _ = calibrated
    task, submission = tmp_path / "task.py", tmp_path / "submission.py"
    head = "import torch\n\n\nclass {}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    head += "        self.w = torch.nn.Parameter(torch.randn(384, 4096))\n\n    def forward(self, x):\n"
    inputs = "\n\ndef get_inputs():\n    return [torch.randn(4096, 384)]\n\n\ndef get_init_inputs():\n    return []\n"
    task.write_text(head.format("Model") + "        return (x @ self.w).sum(1)\n" + inputs)
    submission.write_text(head.format("ModelNew") + "        return x @ self.w.sum(1)\n")
    verdict = judged(run, task, submission)
    assert {"collapse", "audited"} <= set(verdict["flags"]) and "superluminal" not in verdict["flags"]
    roofline = verdict["roofline"]
    assert roofline["traffic_us"] < verdict["timing"]["candidate_us"]["median"] < roofline["bound_us"]
    _, said = rewarded(run, verdict, tmp_path)
    assert json.loads(said)["masked"] and "override" in said, said

    overrides = tmp_path / "overrides.json"
    reason = "the sum makes it a matrix-vector product"
    entry = {"task_sha256": verdict["task_sha256"], "reason": reason, "matrix_scale": 1 / 4096}
    overrides.write_text(json.dumps({verdict["task_id"]: entry}))
    verdict = judged(run, task, submission, "--overrides", overrides)
    shown = (verdict["flags"], verdict["roofline"], verdict["timing"]["candidate_us"], verdict["timing"]["speedup"])
    assert "collapse" in verdict["flags"] and "audited" not in verdict["flags"], shown
    assert verdict["roofline"]["override"] == reason
    assert verdict["roofline"]["written_us"] > verdict["roofline"]["bound_us"]
    code, said = rewarded(run, verdict, tmp_path)
    assert code == 0 and 0.3 < json.loads(said)["reward"] <= 3, said

    overrides.write_text(json.dumps({verdict["task_id"]: {**entry, "matrix_scale": 2}}))
    done = run("eval", "--task", task, submission, "--overrides", overrides, "--device", "cpu")
    assert done.returncode == 2 and "matrix_scale" in done.stderr and str(overrides) in done.stderr


def test_an_uncalibrated_processor_has_none_and_says_what_to_do(assay_bin, tmp_path):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([str(assay_bin), "--log-level", "info", "eval", "--task", str(TASK), str(SUBMISSION),
                           "--device", "cpu", "--json"], capture_output=True, text=True, timeout=600, env=environment)
    assert "roofline" not in json.loads(done.stdout)
    assert "assay calibrate" in done.stderr
