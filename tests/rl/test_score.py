"""bench/kernelbench_score with this library's statistics: intervals, pass@k, paired comparison."""

import json
import math
import os
import pathlib
import subprocess
import sys

import pytest

import assay.rl as rl

TOOL = pathlib.Path(__file__).resolve().parents[2] / "bench/kernelbench_score"


def verdict(task, speedup):
    correct = speedup is not None
    return {"task_id": task, "status": "correct" if correct else "incorrect", "correct": correct, "flags": [],
            "timing": {"speedup": {"value": speedup} if correct else None}}  # fmt: skip


def scored(tmp_path, verdicts, *arguments):
    file = tmp_path / "verdicts.jsonl"
    file.write_text("".join(json.dumps(v) + "\n" for v in verdicts))
    # The package as this test has it: its compiled part may lie in a build tree.
    package = tmp_path / "package" / "assay" / "rl"
    if not package.exists():
        package.mkdir(parents=True)
        (package.parent / "__init__.py").touch()
        source = pathlib.Path(rl.__file__).parent
        for entry in [*source.glob("*.py"), pathlib.Path(rl._core.__file__)]:
            (package / entry.name).symlink_to(entry)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "package")}
    return subprocess.run([sys.executable, TOOL, file, *arguments], env=environment, check=True,
                          capture_output=True, text=True)  # fmt: skip


RUN = [verdict(f"t{i}", s) for i, s in enumerate([None, 1.5, 2.5, 0.5, 1.2])]
RUN += [verdict(f"t{i}", s) for i, s in enumerate([0.8, None, 3.0, None, 1.1])]


def test_intervals_and_pass_at_k(tmp_path):
    result = json.loads(scored(tmp_path, RUN, "--intervals", "--json").stdout)
    said = result["intervals"]
    for p, count in ((0, 5), (1, 3), (2, 1)):
        assert said[f"fast_{p}"] == list(rl.wilson(count, 5))
        assert said[f"fast_{p}"][0] == result["assay"][f"fast_{p}"]
    # One of two passes in three tasks, both in two.
    assert said["pass@1"] == pytest.approx((3 * 0.5 + 2) / 5) and said["pass@2"] == 1.0
    assert "pass@3" not in said
    best = [0.8, 1.5, 3.0, 0.5, 1.2]
    assert said["geometric_mean_speedup"] == list(rl.bca_geometric_mean(best))
    assert said["geometric_mean_speedup"][0] == pytest.approx(math.prod(best) ** 0.2)


def test_two_runs_are_compared_task_by_task(tmp_path):
    slower = [verdict(f"t{i}", s) for i, s in enumerate([0.4, 0.9, 1.5, 0.25, 0.6])] + [verdict("else", 9.0)]
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(v) + "\n" for v in slower))
    said = json.loads(scored(tmp_path, RUN, "--against", other, "--json").stdout)["against"]
    assert said["tasks"] == 5
    tests = said["tests"]
    assert (tests["fast_1"]["only_here"], tests["fast_1"]["only_there"]) == (2, 0)
    assert tests["fast_1"]["p"] == rl.mcnemar(2, 0)[1]
    assert tests["speedup"]["p"] == pytest.approx(2 / 2**5), "all five ratios have one sign"
    adjusted = rl.holm([t["p"] for t in tests.values()]).tolist()
    assert [t["p_holm"] for t in tests.values()] == adjusted
    shown = scored(tmp_path, RUN, "--intervals", "--against", other).stdout
    assert "geometric_mean_speedup   1.167 [" in shown and "only_here 2, only_there 0" in shown


def test_no_verdicts_and_no_library(tmp_path):
    nothing = json.loads(scored(tmp_path, [], "--intervals", "--json").stdout)["intervals"]
    assert nothing["fast_1"] == [0.0, 0.0, 1.0] and "pass@1" not in nothing
    bare = subprocess.run([sys.executable, "-I", "-S", TOOL, tmp_path / "verdicts.jsonl", "--intervals"],
                          capture_output=True, text=True)  # fmt: skip
    assert bare.returncode == 2 and "need assay.rl" in bare.stderr
