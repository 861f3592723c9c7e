"""`assay export`, `rescore` and `replay` over a store that a server wrote."""

import json
import os
import sqlite3
import subprocess

import pytest

VERDICTS = ["correct_full", "incorrect", "cheat", "infra", "timeout"]


@pytest.fixture(scope="module")
def store(assay_bin, root, tmp_path_factory):
    """A store with one job for each golden verdict and one that waits; nothing may change it."""
    path = tmp_path_factory.mktemp("store") / "assay.db"
    maker = assay_bin.parent / "assay_test_store"
    if not maker.exists():
        pytest.fail(f"{maker} is missing: build with the tests on")
    goldens = [str(root / f"src/verdict/testdata/{name}.json") for name in VERDICTS]
    subprocess.run([str(maker), str(path), *goldens], check=True, timeout=60)
    return path


def rows(result):
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def golden(root, name):
    return json.loads((root / f"src/verdict/testdata/{name}.json").read_text())


def test_wrong_stores_are_told_apart(run_assay, tmp_path):
    missing = run_assay("export", "--store", tmp_path / "none.db")
    assert missing.returncode == 2 and "there is no store" in missing.stderr
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("x" * 9000)
    text = run_assay("export", "--store", tmp_path / "text.db")
    assert text.returncode == 2 and "no store of Assay" in text.stderr
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t(x)")
    assert "another program's" in run_assay("export", "--store", tmp_path / "other.db").stderr


def test_export_has_every_judged_submission(run_assay, store, root):
    exported = rows(run_assay("export", "--store", store, "--format", "jsonl"))
    assert [row["status"] for row in exported] == [golden(root, name)["status"] for name in VERDICTS]
    keys = list(exported[0])
    for number, row in enumerate(exported):
        assert list(row) == keys
        assert row["source"] == f"# {number}\nclass ModelNew: pass\n"
        verdict = golden(root, VERDICTS[number])
        for member in ("raw", "stdout", "stderr"):
            verdict.pop(member, None)
        assert json.loads(row["verdict"]) == verdict
        assert json.loads(row["options"]) == {"time": False}
    correct = golden(root, "correct_full")
    assert exported[0]["speedup"] == correct["timing"]["speedup"]["value"]
    assert exported[1]["speedup"] is None


def test_export_filters(run_assay, store):
    def ids(*arguments):
        return [row["id"] for row in rows(run_assay("export", "--store", store, *arguments))]

    assert ids("--owner", "bob") == ["job-1", "job-3"]
    assert ids("--status", "correct") == ["job-0"]
    assert ids("--task", "assay/none") == []
    assert ids("--all") == [f"job-{i}" for i in range(len(VERDICTS) + 1)]
    raw = rows(run_assay("export", "--store", store, "--raw", "--status", "correct"))
    assert "raw" in json.loads(raw[0]["verdict"])


def test_export_to_a_file_is_whole_or_not_there(run_assay, store, tmp_path):
    output = tmp_path / "rows.jsonl"
    assert run_assay("export", "--store", store, "--output", output).returncode == 0
    assert len(output.read_text().splitlines()) == len(VERDICTS)
    assert os.listdir(tmp_path) == ["rows.jsonl"]
    failed = run_assay("export", "--store", store, "--output", "/dev/full")
    assert failed.returncode != 0 and "cannot write" in failed.stderr


def test_export_loads_as_a_data_set(run_assay, store, tmp_path):
    arrow = pytest.importorskip("pyarrow.json")
    output = tmp_path / "rows.jsonl"
    assert run_assay("export", "--store", store, "--all", "--output", output).returncode == 0
    table = arrow.read_json(output)
    assert table.num_rows == len(VERDICTS) + 1
    assert {"id", "source", "status", "speedup", "verdict"} <= set(table.column_names)


def test_rescore_pays_only_what_is_correct(run_assay, store):
    modes = rows(run_assay("rescore", "--store", store, "--mode", "speedup"))
    by_status = {row["status"]: row for row in modes}
    assert by_status["correct"]["reward"] > 0
    assert by_status["infra_error"]["masked"] is True
    for status in ("incorrect", "rejected_cheat", "timeout"):
        assert by_status[status]["reward"] <= 0 and by_status[status]["masked"] is False


def test_rescore_exits_3_where_a_reward_is_missing(run_assay, store):
    """As `assay reward` does; the rows that have one are written all the same."""
    result = run_assay("rescore", "--store", store, "--mode", "coverage")
    written = [json.loads(line) for line in result.stdout.splitlines()]
    missing = [row for row in written if row["reward"] is None]
    assert result.returncode == 3 and missing and all(row["note"] for row in missing)
    assert len(written) == len(VERDICTS) and f"{len(missing)} verdicts lack" in result.stderr


def test_rescore_by_revised_bounds(run_assay, store, root, tmp_path):
    """The golden took 139.812 us against 33.1416: with a bound of half that time half of the span is paid."""
    verdict = golden(root, "correct_full")
    bounds = tmp_path / "bounds.jsonl"
    line = {"task_id": verdict["task_id"], "task_sha256": verdict["task_sha256"], "device": "cuda", "card": "H200",
            **verdict["roofline"], "bound_us": 60.0, "calibrated_us": 139.812 / 2}

    def paid(*arguments):
        row, = rows(run_assay("rescore", "--store", store, "--status", "correct", *arguments))
        return row["bound"], row["reward"]

    assert paid() == ("verdict", pytest.approx(0.3 + 2.7 * 33.1416 / 139.812))
    bounds.write_text(json.dumps(line))
    assert paid("--bounds", bounds) == ("file", pytest.approx(0.3 + 2.7 / 2, abs=1e-4))
    bounds.write_text(json.dumps({**line, "card": "A100 SXM 80GB"}))
    assert paid("--bounds", bounds) == paid()
    bounds.write_text(json.dumps({**line, "bound_us": 500.0}))
    masked, = rows(run_assay("rescore", "--store", store, "--status", "correct", "--bounds", bounds))
    assert masked["masked"] and "500 us" in masked["note"]
    bounds.write_text(json.dumps(line) + "\nnothing\n")
    wrong = run_assay("rescore", "--store", store, "--bounds", bounds)
    assert wrong.returncode == 2 and wrong.stdout == "" and "line 2" in wrong.stderr


def test_a_status_that_no_verdict_has_is_wrong_usage(run_assay, store):
    for command in ("rescore", "export"):
        result = run_assay(command, "--store", store, "--status", "foo")
        assert result.returncode == 2 and result.stdout == ""
        assert "--status" in result.stderr and "rejected_cheat" in result.stderr
        assert "Exit codes: 0" in run_assay(command, "--help").stdout


def test_rescore_tells_a_wrong_mode_once(run_assay, store):
    result = run_assay("rescore", "--store", store, "--mode", "none")
    assert result.returncode == 2
    assert result.stdout == "" and result.stderr.count("\n") == 1


def test_replay_needs_a_verdict(run_assay, store):
    unknown = run_assay("replay", "nobody", "--store", store)
    assert unknown.returncode == 2 and "there is no submission 'nobody'" in unknown.stderr
    waiting = run_assay("replay", f"job-{len(VERDICTS)}", "--store", store)
    assert waiting.returncode == 2 and "no verdict yet" in waiting.stderr


def test_replay_judges_again_and_compares(run_assay, store):
    """The stored verdict is another's: the stored source does not run, so the replay differs."""
    result = run_assay("replay", "job-0", "--store", store, "--device", "cpu", "--json")
    assert result.returncode == 1, result.stderr
    report = json.loads(result.stdout)
    assert report["agrees"] is False
    assert report["before"]["status"] == "correct"
    assert report["after"]["status"] == "runtime_error"
    assert "status" in [d["member"] for d in report["differences"] if d["decisive"]]


def test_nothing_was_written(store):
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        assert database.execute("SELECT count(*) FROM jobs").fetchone() == (len(VERDICTS) + 1,)
        assert database.execute("SELECT count(*) FROM jobs WHERE state = 2").fetchone() == (len(VERDICTS),)
