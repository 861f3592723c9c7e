"""Names that are wrong or stand elsewhere: tasks, rows of a batch, collections, keys."""

import json

import pytest


@pytest.mark.parametrize("collection, entry", [("zoo", "hinge_by_targets"), ("honest", "dead_code_left_out")])
def test_a_collection_is_the_same_from_every_folder(run_assay, tmp_path, collection, entry):
    """The entry's task is a file of the collection."""
    listed = run_assay(collection, "--only", entry, "--list", cwd=tmp_path)
    assert listed.returncode == 0 and entry in listed.stdout, listed.stderr


@pytest.mark.parametrize(
    "task, said, unsaid",
    [
        ("kb/l1/19", "KernelBench's tasks need --tasks kernelbench:PATH", "nearest"),
        ("kb/l3/11~reweighted", "KernelBench's tasks need --tasks kernelbench:PATH", "nearest"),
        ("nofile.py", "cannot read the task 'nofile.py'", "nearest"),
        ("nofile.py~signed", "cannot read the task 'nofile.py'", "nearest"),
        ("assay/rleu", "the nearest are assay/relu", "kernelbench"),
    ],
)
def test_a_task_that_is_not_there(run_assay, root, task, said, unsaid):
    result = run_assay("eval", "--task", task, root / "examples/relu.py")
    assert result.returncode == 2 and said in result.stderr and unsaid not in result.stderr, result.stderr


@pytest.mark.parametrize(
    "row, said",
    [
        ({"task": "assay/relu", "source": "x", "foo": 1}, "there is no member 'foo' in a row"),
        ({"source": "x"}, "'task' is missing"),
        ({"task": "assay/relu", "source": "x", "id": 7}, "'id' must be a string"),
        ({"task": "assay/relu"}, "give 'source' or 'path'"),
        ({"task": "assay/relu", "source": "x", "path": "y"}, "give 'source' or 'path', not both"),
    ],
)
def test_a_wrong_row_of_a_batch_is_refused(run_assay, tmp_path, row, said):
    batch = tmp_path / "batch.jsonl"
    batch.write_text(json.dumps(row) + "\n")
    result = run_assay("eval", "--device", "cpu", "--batch", batch)
    assert result.returncode == 2 and f"batch.jsonl:1: {said}" in result.stderr, result.stderr


def test_a_batch_says_what_its_exit_codes_are(run_assay, tmp_path):
    """A verdict that is not `correct` is a result like another."""
    assert "With --batch: 0 all were judged" in run_assay("eval", "--help").stdout
    batch = tmp_path / "batch.jsonl"
    batch.write_text(json.dumps({"source": "def f(:"}) + "\n")
    result = run_assay("eval", "--device", "cpu", "--task", "assay/relu", "--batch", batch)
    assert result.returncode == 0 and json.loads(result.stdout)["status"] == "invalid_submission", result.stderr


@pytest.mark.parametrize("name", ["a b", "", "a#b"])
def test_a_name_that_no_key_can_have(run_assay, name):
    result = run_assay("keys", "new", "--name", name)
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr == "assay: a key's name is 1 to 64 letters, digits, or one of '-_.@', without blanks\n"
