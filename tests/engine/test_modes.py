"""How a submission is judged where there is a choice: baselines, shapes, precision, caches, repairs."""

import json
import os
import subprocess
from pathlib import Path

import pytest

try:
    import jsonschema
except ImportError:  # tests/verdict says so
    jsonschema = None

DEVICE = os.environ.get("ASSAY_TEST_DEVICE", "cpu")
SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "schema/assay.verdict.1.json").read_text())

TASK = """
import torch
import torch.nn as nn
{extra}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(256, 256)

    def forward(self, x):
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return []
"""
SUBMISSION = """
import os
import torch
import torch.nn as nn
{first}

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(256, 256)

    def forward(self, x):
        {before}
        return torch.relu(self.linear(x))
"""


@pytest.fixture
def files(tmp_path):
    """files(extra=..., first=..., before=...) -> (task, submission)."""

    def files(extra="", first="", before="pass"):
        task, submission = tmp_path / "task.py", tmp_path / "submission.py"
        task.write_text(TASK.format(extra=extra))
        submission.write_text(SUBMISSION.format(first=first, before=before))
        return task, submission

    return files


def judged(run_assay, task, submission, *arguments, **options):
    done = run_assay("eval", submission, "--task", task, "--device", DEVICE, "--json", *arguments, **options)
    assert done.stdout, done.stderr
    verdict = json.loads(done.stdout)
    if jsonschema is not None:
        jsonschema.Draft202012Validator(SCHEMA).validate(verdict)
    return verdict


def test_nothing_is_told_that_was_not_asked(run_assay, files):
    verdict = judged(run_assay, *files(), "--shape-jitter", "off")
    assert verdict["status"] == "correct" and verdict["precision"] == "default"
    assert "baselines" not in verdict["timing"] and "baseline" not in verdict["timing"]
    assert "other_shapes" not in verdict["correctness"]
    assert not verdict["timing"]["method"].endswith("/warm")
    assert not {f for f in verdict["flags"] if f.startswith("global_")} | ({"shape_specialized"} & set(verdict["flags"]))


def test_baselines_are_timed_beside_the_reference(run_assay, files):
    verdict = judged(run_assay, *files(), "--baseline", "compile", "--baseline", "eager-tf32")
    assert verdict["status"] == "correct"
    timing = verdict["timing"]
    assert timing["baseline"] == "eager" and list(timing["baselines"]) == ["eager", "compile", "eager-tf32"]
    rounds = timing["candidate_us"]["n"]
    for name, baseline in timing["baselines"].items():
        assert baseline["us"]["n"] == rounds, name
        assert 0 < baseline["speedup"]["low"] <= baseline["speedup"]["value"] <= baseline["speedup"]["high"], name
    assert timing["baselines"]["eager"] == {"us": timing["reference_us"], "speedup": timing["speedup"]}
    assert "baselines" in verdict["phases_ms"]


def test_the_speedup_is_of_the_chosen_baseline(run_assay, files):
    verdict = judged(run_assay, *files(), "--against", "eager-tf32")
    timing = verdict["timing"]
    assert timing["baseline"] == "eager-tf32"
    assert timing["speedup"] == timing["baselines"]["eager-tf32"]["speedup"]
    assert timing["reference_us"] == timing["baselines"]["eager-tf32"]["us"] != timing["baselines"]["eager"]["us"]


def test_a_baseline_that_cannot_be_had_says_why_and_is_nobodys_fault(run_assay, files):
    if DEVICE != "cpu":
        pytest.skip("torch.compile needs a C++ compiler on the CPU only")
    broken = {**os.environ, "CXX": "/bin/false"}
    verdict = judged(run_assay, *files(), "--against", "compile", "--baseline", "eager-tf32", env=broken)
    assert verdict["status"] == "correct" and verdict["fault"] == "none"
    timing = verdict["timing"]
    assert set(timing["baselines"]["compile"]) == {"unavailable"} and timing["baselines"]["compile"]["unavailable"]
    assert timing["speedup"] is None and "compile is unavailable" in timing["note"]
    assert timing["baselines"]["eager"]["speedup"]["value"] > 0 and timing["baselines"]["eager-tf32"]["us"]["n"] > 0


def test_submissions_judged_at_once_share_a_baseline(run_assay, files, tmp_path):
    task, submission = files()
    lines = [{"task": str(task), "path": str(submission), "id": f"s{i}"} for i in range(3)]
    batch = tmp_path / "batch.jsonl"
    batch.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run_assay("eval", "--device", DEVICE, "--batch", batch, "--jobs", 3, "--baseline", "eager-tf32")
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(v["id"] for v in verdicts) == ["s0", "s1", "s2"], done.stderr
    for verdict in verdicts:
        assert verdict["status"] == "correct"
        assert verdict["timing"]["baselines"]["eager-tf32"]["us"]["n"] == verdict["timing"]["candidate_us"]["n"]


def test_several_pairs_of_fresh_processes(run_assay, files):
    # What a process leaves behind, the next one does not find: it would fail to load.
    traces = "open('/tmp/was_here', 'x').close()"
    task, submission = files(first=traces)
    verdict = judged(run_assay, task, submission, "--processes", 3, "--baseline", "eager-tf32")
    assert verdict["status"] == "correct", verdict["error"]
    timing = verdict["timing"]
    assert len(timing["pairs"]) == 3
    values = [pair["value"] for pair in timing["pairs"]]
    assert min(values) <= timing["speedup"]["value"] <= max(values)
    assert timing["speedup"]["low"] <= timing["speedup"]["value"] <= timing["speedup"]["high"]
    assert timing["baselines"]["eager-tf32"]["us"]["n"] == timing["candidate_us"]["n"] == timing["reference_us"]["n"]
    assert verdict["phases_ms"]["time_more"] > 0
    alone = judged(run_assay, task, submission)
    assert "pairs" not in alone["timing"] and "time_more" not in alone["phases_ms"]
    assert timing["rounds_verified"] >= timing["candidate_us"]["n"], "an output of every round"


def test_random_outputs_in_several_processes(run_assay):
    """Each process draws anew: the draws of the one before would be found to come again."""
    honest = Path(__file__).resolve().parents[1] / "honest/dropout_of_torch.py"
    verdict = judged(run_assay, "assay/bias_dropout_residual", honest, "--processes", 3)
    assert verdict["status"] == "correct" and len(verdict["timing"]["pairs"]) == 3, verdict["error"]


SPECIALIZED = {
    "raises": "assert x.shape[0] == 64",
    "is wrong": "x = x if x.shape[0] == 64 else x * 2",
    "dies": "x.shape[0] == 64 or os.abort()",
    "leaves": "x.shape[0] == 64 or os._exit(0)",
}


@pytest.mark.parametrize("before", SPECIALIZED.values(), ids=SPECIALIZED)
def test_a_submission_for_the_tasks_sizes_alone(run_assay, files, before):
    verdict = judged(run_assay, *files(before=before))
    assert verdict["status"] == "correct" and verdict["correctness"]["other_shapes"] is False
    assert "shape_specialized" in verdict["flags"] and verdict["timing"]["speedup"]
    assert verdict["correctness"]["pattern"] == ""


def test_smaller_shapes_can_be_required(run_assay, files):
    right = judged(run_assay, *files(), "--shape-jitter", "require", "--no-time")
    assert right["status"] == "correct" and right["correctness"]["other_shapes"] is True
    wrong = judged(run_assay, *files(before=SPECIALIZED["is wrong"]), "--shape-jitter", "require", "--no-time")
    assert wrong["status"] == "incorrect" and wrong["correctness"]["other_shapes"] is False
    assert "smaller sizes" in wrong["error"]["message"]
    dies = judged(run_assay, *files(before=SPECIALIZED["dies"]), "--shape-jitter", "require", "--no-time")
    assert dies["status"] == "runtime_error"


def test_a_task_can_require_them(run_assay, files):
    verdict = judged(run_assay, *files('SHAPES = "general"', before=SPECIALIZED["raises"]), "--no-time")
    assert verdict["status"] == "runtime_error"


@pytest.mark.parametrize("first, flag", [
    ("torch.backends.cudnn.benchmark = True", "global_cudnn"),
    ("torch.backends.cuda.matmul.allow_tf32 = True", "global_precision"),
])
def test_switches_that_are_moved_at_import_are_told(run_assay, files, first, flag):
    assert flag in judged(run_assay, *files(first=first), "--no-time")["flags"]


def test_switches_that_are_moved_in_a_call_are_told(run_assay, files):
    assert "global_cudnn" in judged(run_assay, *files(before="torch.backends.cudnn.benchmark = True"), "--no-time")["flags"]


def test_the_precision_is_the_tasks_or_the_requests(run_assay, files):
    task, submission = files('PRECISION = "tf32"')
    said = judged(run_assay, task, submission, "--no-time")
    assert said["precision"] == "tf32" and said["correctness"]["rtol"] == 2e-3
    asked = judged(run_assay, task, submission, "--no-time", "--precision", "ieee")
    assert asked["precision"] == "ieee" and asked["correctness"]["rtol"] == 1e-4
    assert "global_precision" not in asked["flags"], "the policy is not the submission's doing"


def test_warm_caches(run_assay, files):
    verdict = judged(run_assay, *files(), "--cache", "warm")
    assert verdict["status"] == "correct" and verdict["timing"]["method"].endswith("/warm")
    assert verdict["timing"]["speedup"] and verdict["timing"]["rounds_verified"] > 0


def test_wrong_words_are_named(run_assay, files):
    task, submission = files()
    for arguments, words in ((("--baseline", "jit"), "eager, compile"), (("--cache", "hot"), "cold and warm"),
                             (("--precision", "fp8"), "ieee and tf32"), (("--shape-jitter", "on"), "report and require"),
                             (("--against", "all"), "eager, compile")):
        done = run_assay("eval", "--task", task, *arguments, submission)
        assert done.returncode == 2 and words in done.stderr, done.stderr


VOID = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, layers):
        super(Model, self).__init__()
        self.layers = nn.Sequential(*(m for _ in range(layers) for m in (nn.Linear(64, 64), nn.ReLU())))

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.rand(32, 64)]


def get_init_inputs():
    return [40]
"""


def test_a_void_task_has_a_variant_that_is_not(run_assay, tmp_path):
    """A deep net whose initial weights let nothing through but its biases."""
    task = tmp_path / "deep.py"
    task.write_text(VOID)

    def health(name):
        done = run_assay("tasks", "check", "--task", name, "--device", DEVICE, "--json")
        report = json.loads(done.stdout)
        assert report["ok"], report
        return report

    assert health(task)["void"] == "previous"
    repaired = health(f"{task}~reweighted")
    assert repaired["id"].endswith("~reweighted") and repaired["void"] == ""
    assert health(f"{task}~signed")["ok"]


def test_a_task_whose_inputs_never_change_is_void(run_assay, files):
    """An answer that is kept by a look at the first element would be right in every call but rare ones."""
    task, submission = files()
    fixed = "return [torch.randn(64, 256, generator=torch.Generator().manual_seed(1))]"
    task.write_text(task.read_text().replace("return [torch.randn(64, 256)]", fixed))
    verdict = judged(run_assay, task, submission)
    assert verdict["status"] == "correct" and "void_task" in verdict["flags"]
    submission.write_text(submission.read_text().replace("pass\n", "return self.kept(x)\n", 1) + """
    found = {}

    def kept(self, x):
        key = float(x[0, 0]), float(self.linear.bias[0])
        if key not in self.found:
            self.found[key] = torch.relu(self.linear(x))
        return self.found[key].clone()
""")
    assert judged(run_assay, task, submission)["status"] == "incorrect"
    assert "same inputs" in verdict["void_reason"]
    sound = judged(run_assay, *files(), "--no-time")
    assert "void_task" not in sound["flags"]


def test_variants_of_built_in_tasks(run_assay):
    shown = json.loads(run_assay("tasks", "show", "assay/relu~signed", "--json").stdout)
    plain = json.loads(run_assay("tasks", "show", "assay/relu", "--json").stdout)
    assert shown["source"].startswith(plain["source"]) and shown["sha256"] != plain["sha256"]
    unknown = run_assay("tasks", "show", "assay/relu~louder")
    assert unknown.returncode == 2 and "no task" in unknown.stderr
    listed = run_assay("tasks", "list", "--repaired")
    assert listed.returncode == 0 and listed.stdout.splitlines()[-1] == "0 tasks", "no built-in task is void"


@pytest.mark.parametrize("repair", ["reweighted", "signed", "scaled"])
def test_a_variant_is_judged_like_any_task(run_assay, files, repair):
    task, submission = files()
    verdict = judged(run_assay, f"{task}~{repair}", submission, "--no-time")
    assert verdict["status"] == "correct" and verdict["task_id"].endswith(f"~{repair}")


def test_repaired_inputs_are_what_they_say(run_assay, tmp_path):
    torch = pytest.importorskip("torch")
    for repair, low, high in (("signed", -4, 4), ("scaled", -64, 64)):
        source = json.loads(run_assay("tasks", "show", f"assay/relu~{repair}", "--json").stdout)["source"]
        names = {"torch": torch}
        exec(source.replace("torch.randn(", "torch.rand("), names)
        names.update(names["SIZES"]["cpu"])
        (x,) = names["get_inputs"]()
        assert low <= float(x.min()) < low * 0.9 and high * 0.9 < float(x.max()) <= high
