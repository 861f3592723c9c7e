"""`assay roofline` and `assay calibrate` as a person or a script meets them."""

import json
import os
import subprocess

import pytest


@pytest.fixture
def run(assay_bin, tmp_path):
    """Runs a command with a cache of its own."""
    def run(*arguments, timeout=600):
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}
        return subprocess.run([str(assay_bin), *map(str, arguments)], capture_output=True, text=True,
                              timeout=timeout, env=environment)

    return run


# Bytes and operations by hand at the GPU's sizes; an H200: 4800 GB/s, 60 MB of L2, half precision
# 1070.5, TF32 535.3 TFLOP/s at 1.98 GHz.
L2 = 60e6
BY_HAND = {
    "elementwise/relu": (2 * 134217728 - L2) / 4800e3,
    "softmax/softmax_rows": (2 * 268435456 - L2) / 4800e3,
    "scan/cumsum_rows": (2 * 134217728 - L2) / 4800e3,
    "reduction/sum_rows": 268435456 / 4800e3,
    "matmul/matmul_bf16_transposed": 2 * 4096**3 * (7 / 8) ** 2 / 1070.5e6,  # two levels of Strassen
    "elementwise/gelu_tanh": (2 * 134217728 - L2) / 4800e3,
}


@pytest.fixture(scope="module")
def bounds(assay_bin, root, tmp_path_factory):
    """One run over these tasks: starting torch is what takes the time."""
    folder = tmp_path_factory.mktemp("tasks")
    for task in BY_HAND:
        (folder / f"{task.split('/')[1]}.py").write_text((root / "tasks" / f"{task}.py").read_text())
    result = subprocess.run([str(assay_bin), "roofline", "--tasks", str(folder), "--device", "H200", "--json"],
                            capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return {line["task_id"].split("/")[-1]: line for line in lines}


@pytest.mark.parametrize("task", BY_HAND)
def test_bounds_by_hand(bounds, task):
    bound = bounds[task.split("/")[1]]
    assert bound["bound_us"] == pytest.approx(BY_HAND[task], rel=1e-3)
    assert bound["limiter"] == ("matrix" if "matmul" in task else "memory")
    assert bound["calibrated_us"] is None and bound["source"] == "datasheet"


def test_gelu_written_out_moves_nine_times_what_it_must(bounds):
    """The published case of a speedup that only the reference's own traffic explains."""
    bound = bounds["gelu_tanh"]
    assert bound["fusion_gain"] == pytest.approx(9.0)
    assert bound["read_bytes"] == bound["write_bytes"] == 134217728


def test_a_bound_is_explained_line_by_line(run):
    result = run("roofline", "matmul/matmul_bf16_transposed", "--device", "H200")
    assert result.returncode == 0, result.stderr
    for said in ("Reads 67.109 MB", "Writes 33.554 MB", "mm", "Card: H200, datasheet", "Limited by matrix, bf16"):
        assert said in result.stdout


def test_the_tables_cards_are_listed(run):
    cards = {card["name"]: card for card in map(json.loads, run("roofline", "--cards", "--json").stdout.splitlines())}
    assert cards["H200"]["dram_gbs"] == 4800 and cards["H200"]["bf16_tflops"] == pytest.approx(1070.5, abs=1)
    assert "H200" in run("roofline", "--cards").stdout


def test_calibration_of_this_processor_and_a_bound_by_it(run):
    before = run("roofline", "elementwise/relu", "--device", "cpu")
    assert before.returncode == 2 and "assay calibrate" in before.stderr
    calibrated = run("calibrate", "--device", "cpu", "--quick", "--json")
    assert calibrated.returncode == 0, calibrated.stderr
    document = json.loads(calibrated.stdout)
    assert document["schema"] == "assay.calibration/1" and document["tflops"]["fp32"] > 0
    bound = json.loads(run("roofline", "elementwise/relu", "--device", "cpu", "--json").stdout)
    assert 0 < bound["bound_us"] <= bound["calibrated_us"]
    assert bound["source"] == "calibrated"


def test_overrides_are_used_and_named(run, tmp_path):
    plain = json.loads(run("roofline", "elementwise/relu", "--device", "H200", "--json").stdout)
    overrides = tmp_path / "overrides.json"
    overrides.write_text(json.dumps({plain["task_id"]: {"task_sha256": plain["task_sha256"], "reason": "a test",
                                                        "read_bytes": 0}}))
    changed = json.loads(run("roofline", "elementwise/relu", "--device", "H200", "--json",
                             "--overrides", overrides).stdout)
    assert changed["bound_us"] < plain["bound_us"]
    assert "override: a test" in changed["notes"]
    entry = {"task_sha256": "0" * 64, "reason": "a test", "read_bytes": 0}
    overrides.write_text(json.dumps({plain["task_id"]: entry, "elementwise/relu": entry}))
    idle = run("roofline", "elementwise/relu", "--device", "H200", "--json", "--overrides", overrides)
    assert json.loads(idle.stdout)["bound_us"] == plain["bound_us"]
    assert "another version" in idle.stderr and f"its id is {plain['task_id']}" in idle.stderr
    overrides.write_text(json.dumps({plain["task_id"]: {"task_sha256": plain["task_sha256"]}}))
    refused = run("roofline", "elementwise/relu", "--device", "H200", "--overrides", overrides)
    assert refused.returncode == 2 and "no reason" in refused.stderr


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (["roofline", "assay/rleu", "--device", "H200"], 2, "assay/relu"),
        (["roofline", "assay/rleu"], 2, "assay/relu"),  # and not that this machine lacks a calibration
        (["roofline", "assay/relu", "--device", "H2000"], 2, "there are A100"),
        (["roofline", "assay/relu", "--calibration", "/no/file"], 2, "/no/file"),
        (["calibrate", "--device", "tpu"], 2, "'tpu' is no device: use auto, cpu, cuda or cuda:N"),
    ],
)
def test_wrong_usage_says_what_to_do(run, arguments, code, said):
    result = run(*arguments)
    assert result.returncode == code, result.stderr
    assert said in result.stderr
    assert result.stdout == ""


def test_calibrating_a_gpu_that_is_not_there(run):
    """CUDA_VISIBLE_DEVICES hides all there are."""
    result = run("calibrate", "--device", "cuda")
    assert result.returncode in (2, 3) and result.stdout == ""
    assert "no GPU can be used" in result.stderr or "there is no cuda" in result.stderr
    assert "RuntimeError" not in result.stderr


def test_implausible_figures_are_not_used(run, tmp_path):
    document = {
        "schema": "assay.calibration/1",
        "card": {"cpu": False, "name": "NVIDIA H200", "uuid": "GPU-1", "compute": 90, "multiprocessors": 132,
                 "clock_ghz": 1.98, "dram_gbs": 4900, "l2_bytes": 60e6},
        "bandwidth_gbs": {"dram_copy": 4300, "dram_read": 4500, "dram_write": 4400},
        "tflops": {"fp32": 52, "bf16": 790}, "launch_us": 2,
    }
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(document))
    good = run("roofline", "elementwise/relu", "--calibration", path, "--json")
    assert good.returncode == 0, good.stderr
    bound = json.loads(good.stdout)
    assert bound["calibrated_us"] == pytest.approx(2 * 134217728 / 4300e3 + 2, rel=1e-4)
    document["bandwidth_gbs"]["dram_copy"] = 9000
    path.write_text(json.dumps(document))
    refused = run("roofline", "elementwise/relu", "--calibration", path)
    assert refused.returncode == 3 and "not plausible: dram_copy" in refused.stderr
