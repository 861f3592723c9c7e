"""The profile, ghosts, and the instrument's own check."""

import json
import os
import subprocess

import pytest

from engine_harness import DEVICE, HERE, brief, submissions

NAMES = ("own_triton", "decoy_triton", "plain_torch", "own_graph", "own_extension", "own_ctypes", "compiled_torch")


def parameters():
    found = []
    for name in NAMES:
        reason = submissions()[name].why_not_here()
        found.append(pytest.param(submissions()[name], id=name, marks=[pytest.mark.skip(reason=reason)] if reason else []))
    return found


@pytest.mark.parametrize("submission", parameters())
def test_the_profile_says_whose_kernels_do_the_work(submission, batches):
    name, verdict = submission.name, batches.verdicts("profiled")[submission.name]
    assert verdict["status"] == "correct", brief(verdict)
    profile = verdict["profile"]
    if DEVICE == "cpu":
        assert "needs a GPU" in profile["note"] and profile["coverage_time"] is None
        return
    shown = json.dumps(profile, indent=1)
    assert profile["note"] is None and profile["dropped"] == 0, shown
    assert profile["kernels"] and profile["busy_us"] > 0 and profile["host_gap_us"] >= 0, shown
    assert profile["unknown_us"] == 0, shown
    if name in ("own_triton", "own_extension", "own_ctypes"):
        assert profile["coverage_time"] == 1 and profile["coverage_count"] == 1, shown
        assert not {"decoy", "library"} & set(verdict["flags"]), brief(verdict)
    elif name == "own_graph":  # copies in and out are not its kernels
        assert 0 < profile["coverage_time"] < 1 and profile["custom_kernels"] == 1, shown
    elif name == "decoy_triton":
        assert profile["custom_kernels"] == 1 and 0 < profile["coverage_time"] < 1, shown
    else:
        assert profile["coverage_time"] == 0 and profile["custom_kernels"] == 0, shown
        assert "library" in verdict["flags"], brief(verdict)
    kernel = profile["kernels"][0]
    assert min(kernel["grid"] + kernel["block"]) >= 1 and kernel["registers"] > 0, shown


@pytest.mark.parametrize("submission", parameters())
def test_a_ghost_tells_decoys_from_kernels_that_do_the_work(submission, batches):
    name, verdict = submission.name, batches.verdicts("profiled")[submission.name]
    ghost = verdict["ghost"]
    if name in ("plain_torch", "compiled_torch"):
        assert ghost["still_right"] is None and "no kernel of its own" in ghost["note"], brief(verdict)
    elif name == "own_ctypes":  # its launches take a way that is not cut off
        assert ghost["still_right"] is None and ghost["launches_skipped"] == 0, ghost
    else:
        assert ghost["launches_skipped"] > 0 and ghost["still_right"] is (name == "decoy_triton"), ghost
    assert ("decoy" in verdict["flags"]) == (name == "decoy_triton"), brief(verdict)


def run(assay_bin, cache, *arguments):
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return subprocess.run([str(assay_bin), *map(str, arguments)], capture_output=True, text=True, timeout=600,
                          env=environment, check=False)


def test_the_instrument_measures_itself_and_verdicts_say_how_well(assay_bin, tmp_path):
    done = run(assay_bin, tmp_path, "timer-check", "--device", DEVICE, "--json")
    # A busy processor is no instrument; a GPU must be.
    assert done.returncode in ((0, 1) if DEVICE == "cpu" else (0,)), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["schema"] == "assay.timer/1" and report["within"] == (done.returncode == 0)
    lengths = [2, 5, 10, 50, 100, 1000, 10_000, 100_000]
    for length, point in zip(lengths, report["points"], strict=True):
        assert length <= point["known_us"] <= 1.5 * length + 1, report
    assert report["floor_us"] > 0
    [stored] = tmp_path.rglob("*.json")
    assert json.loads(stored.read_text()) == report
    done = run(assay_bin, tmp_path, "eval", "--device", DEVICE, "--json", "--task", HERE / "tasks/relu.py",
               HERE / "submissions/honest/torch_relu_timed.py")
    verdict = json.loads(done.stdout)
    assert verdict["timing"]["instrument_error_us"] is not None, brief(verdict)
    other = run(assay_bin, tmp_path / "other", "eval", "--device", DEVICE, "--json", "--task", HERE / "tasks/relu.py",
                HERE / "submissions/honest/torch_relu_timed.py")
    assert json.loads(other.stdout)["timing"]["instrument_error_us"] is None
