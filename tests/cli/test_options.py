"""Options as they are given: repeated, without what they need, and what --help promises of them."""

import json
import re
import subprocess

import pytest

COMMANDS = ["eval", "tasks list", "tasks show", "tasks check", "doctor", "reward", "roofline", "calibrate",
            "timer-check", "serve", "worker", "top", "keys new", "replay", "rescore", "export", "version", "zoo",
            "honest"]


@pytest.fixture(scope="module")
def verdict(root):
    return root / "src/verdict/testdata/correct.json"


def test_a_repeatable_option_takes_one_value_a_use(run_assay, verdict):
    """What stands behind it is not its: the file, the task."""
    rewarded = run_assay("reward", "--mode", "speedup", "--set", "cap=2", verdict)
    assert rewarded.returncode == 0, rewarded.stderr
    twice = run_assay("reward", "--mode", "roofline", "--set", "base=0", "--set", "span=1", "--json", verdict)
    assert json.loads(twice.stdout)["parameters"] == {"base": 0, "span": 1}, twice.stderr
    shown = run_assay("tasks", "show", "--tasks", "builtin", "assay/relu")
    assert shown.returncode == 0 and "class Model" in shown.stdout, shown.stderr
    nobody = run_assay("roofline", "--device", "H200", "--tasks", "builtin", "assay/rleu")
    assert nobody.returncode == 2 and "no task 'assay/rleu'" in nobody.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_no_repeatable_option_of_any_command_takes_more(run_assay, command):
    """A word behind its value is the command's positional argument, or one too many."""
    help_text = run_assay(*command.split(), "--help").stdout
    repeatable = set(re.findall(r"^  (--[a-z-]+) TEXT \.\.\.", help_text, re.M))
    assert repeatable or "repeatable" not in help_text, help_text
    for option in repeatable:
        store = ["--store", "none.db"] if command in ("replay", "rescore") else []
        result = run_assay(*command.split(), *store, option, "one", "two", "three", "four", timeout=30)
        assert result.returncode == 2 and "four" in result.stderr, f"{option}: {result.stderr}"


@pytest.mark.parametrize("option", [["--output", "verdicts.jsonl"], ["--jobs", 2]])
def test_what_only_a_batch_takes_needs_one(run_assay, root, option):
    result = run_assay("eval", *option, "--task", "assay/relu", root / "examples/relu.py")
    assert result.returncode == 2 and f"{option[0]} requires --batch" in result.stderr, result.stderr


def test_the_version_is_an_option_too(run_assay):
    result = run_assay("--version")
    assert result.returncode == 0 and result.stdout == run_assay("version").stdout


def test_the_timer_check_says_that_a_failed_one_counts(run_assay):
    help_text = run_assay("timer-check", "--help").stdout
    assert "1 not (stored too)" in help_text and "2 wrong usage" in help_text


@pytest.mark.parametrize("collection", ["zoo", "honest"])
def test_an_example_of_a_collection_names_something_in_it(run_assay, collection):
    [only] = re.findall(r"--only '(.*?)'", run_assay(collection, "--help").stdout)
    listed = run_assay(collection, "--only", only, "--list")
    assert listed.returncode == 0 and len(listed.stdout.splitlines()) > 1, listed.stderr


def test_examples_name_where_kernelbench_is(run_assay):
    examples = [line for line in run_assay("eval", "--help").stdout.splitlines() if "--task kb/" in line]
    assert len(examples) > 1 and all("--tasks kernelbench:" in line for line in examples)
