"""`assay reward`: rewards again from documents, without a GPU, whatever the documents hold."""

import copy
import json
import math
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MODES = ["roofline", "sol", "speedup", "log", "fast_p", "milestones", "ladder", "tiers", "coverage",
         "correctness", "progress", "kevin", "drkernel", "kernrl", "cuda_agent", "kernelbench"]


@pytest.fixture(scope="module")
def correct(root):
    """A verdict as the engine writes it, with a bound of 40 us for its kernel of 52.459 us."""
    document = json.loads((root / "src/verdict/testdata/correct.json").read_text())
    document["roofline"] = {"bound_us": 40, "calibrated_us": None, "fraction": 0.7625, "limiter": "memory",
                            "precision": "", "source": "datasheet"}
    return document


@pytest.fixture
def reward(assay_bin):
    def run(*arguments, stdin=""):
        return subprocess.run([str(assay_bin), "reward", *arguments], input=stdin, capture_output=True,
                              text=True, timeout=60)

    return run


def test_all_modes_are_listed(reward):
    listed = [json.loads(line) for line in reward("--list", "--json").stdout.splitlines()]
    assert [mode["name"] for mode in listed] == MODES
    assert all(mode["low"] <= 0 < mode["high"] and mode["version"] and mode["parameters"] for mode in listed)
    text = reward("--list").stdout
    assert all(f"\n{name} " in "\n" + text for name in MODES)


def test_the_default_is_the_roofline(reward, correct, tmp_path):
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps(correct, indent=1))
    result = json.loads(reward(str(path), "--json").stdout)
    assert result["reward"] == pytest.approx(0.3 + 2.7 * 40 / 52.459)
    assert result["mode"] == "roofline" and result["version"] == "1" and not result["masked"]
    assert result["parts"]["correct"] + result["parts"]["speed"] == pytest.approx(result["reward"])
    assert result["protocol"] == correct["protocol"] and result["task_id"] == correct["task_id"]


def test_parameters_are_set_by_name(reward, correct):
    stdin = json.dumps(correct)
    assert json.loads(reward("-", "--json", "--set", "base=0", "--set", "span=1", stdin=stdin).stdout)[
        "reward"] == pytest.approx(40 / 52.459)
    low = json.loads(reward("-", "--json", "--set", "estimate=lower", stdin=stdin).stdout)
    assert low["reward"] == pytest.approx(0.3 + 2.7 * 40 / (52.459 * 2.3133 / 2.30756))


def test_lines_are_judged_one_by_one(reward, correct, root):
    infra = json.loads((root / "src/verdict/testdata/infra.json").read_text())
    cheat = json.loads((root / "src/verdict/testdata/cheat.json").read_text())
    bare = {key: value for key, value in correct.items() if key != "roofline"}
    result = reward("-", "--json", stdin="\n".join(map(json.dumps, [correct, infra, cheat, bare])) + "\n")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == 3
    assert lines[0]["reward"] > 2
    assert lines[1]["reward"] is None and lines[1]["masked"]
    assert lines[2]["reward"] == 0 and not lines[2]["masked"]
    assert lines[3]["reward"] is None and "roofline bound" in lines[3]["error"]
    assert "line 4: " in result.stderr


@pytest.mark.parametrize(
    "arguments, stdin, code, said",
    [
        ([], "", 2, "--list"),
        (["/no/such/file"], "", 2, "/no/such/file"),
        (["-"], "", 2, "empty"),
        (["-"], "{", 2, "JSON"),
        (["-"], "[]", 2, "JSON object"),
        (["-"], "{}", 2, "not a verdict"),
        (["-"], "[" * 10000, 2, "JSON"),
        (["-", "--mode", "rooflin"], "{}", 2, "kernelbench"),
        (["-", "--set", "base"], "{}", 2, "NAME=VALUE"),
        (["-", "--set", "bse=1"], "{}", 2, "there is no parameter 'bse'"),
        (["-", "--set", "base=high"], "{}", 2, "a number from 0"),
    ],
)
def test_wrong_usage_says_what_to_do(reward, arguments, stdin, code, said):
    result = reward(*arguments, stdin=stdin)
    assert result.returncode == code
    assert said in result.stderr
    assert result.stdout == ""


NUMBERS = st.one_of(st.floats(), st.integers(-(2**70), 2**70), st.none(), st.booleans(), st.text(max_size=3))
PATHS = [("timing", "candidate_us", "median"), ("timing", "reference_us", "median"),
         ("timing", "speedup", "value"), ("timing", "speedup", "low"), ("timing", "speedup", "high"),
         ("roofline", "bound_us"), ("roofline", "calibrated_us"), ("timing", "speedup"), ("timing",),
         ("status",), ("fault",), ("correct",), ("flags",), ("roofline",), ("profile",), ("schema",)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(PATHS), NUMBERS), min_size=1, max_size=3), st.sampled_from(MODES))
def test_any_document_gives_a_bounded_reward_or_a_reason(reward, correct, changes, mode):
    document = copy.deepcopy(correct)
    for path, value in changes:
        at = document
        for key in path[:-1]:
            at = at.get(key) if isinstance(at, dict) else None
        if isinstance(at, dict):
            at[path[-1]] = value
    result = reward("-", "--mode", mode, "--json", stdin=json.dumps(document))
    assert result.returncode in (0, 2, 3), result.stderr
    if result.returncode == 0:
        line = json.loads(result.stdout)
        assert line["masked"] or math.isfinite(line["reward"])
    else:
        assert result.stderr.startswith("assay: ")
