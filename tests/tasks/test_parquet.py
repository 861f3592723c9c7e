"""The program that turns Parquet files of tasks into JSONL."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "python" / "assay" / "tasks" / "parquet.py"

SOURCE = "class Model: pass\n# naïve \u2028 line\n"


def run(path, *options):
    command = [sys.executable, *options, str(PROGRAM), str(path)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)


def rows_of(result):
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.split("\n") if line]


@pytest.fixture
def write(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def write(rows, **options):
        path = tmp_path / "tasks.parquet"
        parquet.write_table(pyarrow.Table.from_pylist(rows), path, **options)
        return path

    return write


def test_without_pyarrow_it_says_how_to_get_it(tmp_path):
    result = run(tmp_path / "any.parquet", "-S", "-I")  # no site-packages: no pyarrow
    assert result.returncode == 2
    assert "-m pip install pyarrow" in result.stderr
    assert sys.executable in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(64) + b"PAR1", b"text\n" * 99])
def test_a_damaged_file_is_told_in_one_line(tmp_path, content):
    pytest.importorskip("pyarrow")
    path = tmp_path / "damaged.parquet"
    path.write_bytes(content)
    result = run(path)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr


def test_a_file_without_tasks_names_its_columns(write):
    result = run(write([{"question": "?", "answer": 1}]))
    assert result.returncode == 1
    assert "question, answer" in result.stderr


def test_a_missing_file_and_a_wrong_call(tmp_path):
    pytest.importorskip("pyarrow")
    assert run(tmp_path / "missing.parquet").returncode == 1
    result = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert "usage" in result.stderr


def test_kernelbench_rows_come_whole_and_in_order(write):
    rows = [
        {"code": SOURCE, "level": 1, "name": f"{i}_Task", "problem_id": i} for i in range(1, 3000)
    ]
    assert rows_of(run(write(rows, row_group_size=500))) == rows


def test_of_dr_kernel_rows_only_what_describes_the_task_is_read(write):
    row = {
        "data_source": "cuda_llm",
        "prompt": [{"role": "user", "content": "write a kernel"}],
        "ability": "kernel_optimization",
        "reward_model": {"ground_truth": SOURCE, "style": "rule"},
        "extra_info": {
            "entry_point": "GatedUnit",
            "level": 2,
            "module_name": "gated_unit",
            "ops": ["mul"],
            "original_prompt": "x",
            "repo_name": "r",
            "type": "t",
            "uuid": "u-1",
        },
    }
    assert rows_of(run(write([row]))) == [
        {
            "reward_model": {"ground_truth": SOURCE},
            "extra_info": {
                "entry_point": "GatedUnit",
                "level": 2,
                "module_name": "gated_unit",
                "uuid": "u-1",
            },
        }
    ]


def test_missing_values_are_null(write):
    rows = [{"id": "a", "code": SOURCE, "level": None}, {"id": "b", "code": None, "level": 1}]
    assert rows_of(run(write(rows))) == rows
