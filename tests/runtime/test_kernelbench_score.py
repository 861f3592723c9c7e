"""bench/kernelbench_score: one task counts once, what nobody judged counts never."""

import json
import subprocess
import sys


def verdict(task, status="correct", speedup=None, theirs=None, flags=()):
    return {"task_id": task, "status": status, "correct": status == "correct", "flags": list(flags),
            "timing": {"speedup": speedup and {"value": speedup}},
            **({} if theirs is None else {"kernelbench": {"correct": theirs}})}


def scored(root, tmp_path, *verdicts):
    file = tmp_path / "verdicts.jsonl"
    file.write_text("".join(json.dumps(v) + "\n" for v in verdicts))
    done = subprocess.run([sys.executable, root / "bench" / "kernelbench_score", file, "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_both_rules_beside_each_other(root, tmp_path):
    result = scored(root, tmp_path,
                    verdict("a", speedup=1.5, theirs=True), verdict("a", "incorrect", theirs=False),
                    verdict("b", "incorrect", theirs=True, flags=["void_task"]),
                    verdict("c", "infra_error"), verdict("d", "compile_error"), verdict("e", speedup=2.5, theirs=False))
    assert result["tasks"] == 4
    assert result["assay"] == {"fast_0": 0.5, "fast_1": 0.5, "fast_2": 0.25}
    assert result["kernelbench"] == {"fast_0": 0.5, "fast_1": 0.25, "fast_2": 0.0}
    assert result["correct_by_one_only"] == ["b", "e"] and result["void_tasks"] == ["b"]


def test_no_verdicts_score_nothing(root, tmp_path):
    assert scored(root, tmp_path, verdict("a", "cancelled"))["assay"]["fast_0"] == 0
