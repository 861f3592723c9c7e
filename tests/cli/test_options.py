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
        result = run_assay(*command.split(), *store, option, "one", "two", "three", "four")
        assert result.returncode == 2 and "four" in result.stderr, f"{option}: {result.stderr}"
