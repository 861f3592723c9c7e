"""The commands as a person or a script meets them: help, output formats, exit codes, errors."""

import json
import re

import pytest

COMMANDS = ["eval", "tasks", "tasks list", "tasks show", "tasks check", "doctor", "version"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(run_assay, command):
    result = run_assay(*command.split(), "--help")
    assert result.returncode == 0
    assert "Example" in result.stdout
    assert f"assay {command.split()[0]}" in result.stdout


def test_no_command_is_wrong_usage(run_assay):
    result = run_assay()
    assert result.returncode == 2
    assert "--help" in result.stderr + result.stdout


def test_version_is_machine_readable(run_assay):
    version = json.loads(run_assay("version", "--json").stdout)
    assert version["verdict"] == "assay.verdict/1"
    assert version["version"] in run_assay("version").stdout


def test_its_allocator_is_the_one_that_is_linked(run_assay, assay_bin):
    """Where mimalloc is linked, malloc and new of the process really are its."""
    linked = b"mimalloc: " in assay_bin.read_bytes()  # its messages begin so
    allocator = json.loads(run_assay("version", "--json").stdout)["allocator"]
    assert re.fullmatch(r"mimalloc 2\.\d+\.\d+" if linked else "libc", allocator), allocator
    assert allocator in run_assay("version").stdout


def test_tasks_are_listed_in_both_formats(run_assay):
    tasks = json.loads(run_assay("tasks", "list", "--json").stdout)
    assert len(tasks) >= 48
    families = {task["family"] for task in tasks}
    assert {"elementwise", "matmul", "attention", "scan", "nets"} <= families
    text = run_assay("tasks", "list").stdout
    assert all(task["id"] in text for task in tasks)


def test_a_task_is_shown_with_its_source(run_assay):
    shown = json.loads(run_assay("tasks", "show", "assay/relu", "--json").stdout)
    assert "class Model" in shown["source"] and len(shown["sha256"]) == 64
    assert "def get_inputs" in run_assay("tasks", "show", "elementwise/relu").stdout


def test_an_unknown_task_names_the_nearest(run_assay):
    result = run_assay("tasks", "show", "assay/rleu")
    assert result.returncode == 2
    assert "assay/relu" in result.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["eval"], "name a task and a submission"),
        (["eval", "--task", "assay/relu", "/no/such/file.py"], "/no/such/file.py"),
        (["eval", "--task", "assay/nothing", __file__], "no task 'assay/nothing'"),
        (["eval", "--task", "assay/relu", "--device", "tpu", __file__], "use auto, cpu, cuda or cuda:N"),
        (["eval", "--task", "assay/relu", "--require-sandbox", "steel", __file__], "steel"),
        (["eval", "--task", "assay/relu", "--trials", "0", __file__], "--trials"),
        (["eval", "--tasks", "/no/such/folder", "--task", "x", __file__], "/no/such/folder"),
        (["eval", "--batch", "/no/such/batch.jsonl"], "/no/such/batch.jsonl"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_usage_exits_2_and_says_what_is_wrong(run_assay, arguments, said):
    result = run_assay(*arguments)
    assert result.returncode == 2, result.stderr
    assert said in result.stderr + result.stdout


def test_a_broken_batch_names_its_line(run_assay, tmp_path):
    batch = tmp_path / "batch.jsonl"
    batch.write_text('{"task": "assay/relu", "source": "x = 1"}\n{"task": "assay/relu"}\n')
    result = run_assay("eval", "--batch", str(batch))
    assert result.returncode == 2
    assert "batch.jsonl:2" in result.stderr


def test_an_interpreter_without_torch_is_named_with_the_remedy(run_assay, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'No module named torch' >&2\nexit 1\n")
    python.chmod(0o755)
    submission = tmp_path / "submission.py"
    submission.write_text("class ModelNew: pass\n")
    result = run_assay("eval", "--task", "assay/relu", "--device", "cpu", "--python", str(python), str(submission))
    assert result.returncode == 3
    assert str(python) in result.stderr and "pip install torch" in result.stderr


def test_doctor_tells_machines_and_people_the_same(run_assay):
    report = json.loads(run_assay("doctor", "--json").stdout)
    names = {check["name"] for check in report["checks"]}
    assert {"torch", "sandbox", "g++", "allocator"} <= names
    text = run_assay("doctor").stdout
    assert all(check["name"] in text for check in report["checks"])
    assert all(check["fix"] for check in report["checks"] if check["state"] == "missing")


def test_doctor_names_the_allocator(run_assay):
    in_use = json.loads(run_assay("version", "--json").stdout)["allocator"]
    report = json.loads(run_assay("doctor", "--json").stdout)
    [allocator] = [check for check in report["checks"] if check["name"] == "allocator"]
    assert in_use in allocator["detail"]
    best = in_use.startswith("mimalloc")
    assert allocator["state"] == ("ok" if best else "warn") and bool(allocator["fix"]) != best
    assert re.search(rf"allocator +{re.escape(in_use)}", run_assay("doctor").stdout)
