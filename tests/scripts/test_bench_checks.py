"""The checks in bench/ that a GPU runs: what they call wrong, on made-up verdicts."""

import copy
import importlib.machinery
import importlib.util
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


def script(name: str):
    loader = importlib.machinery.SourceFileLoader(name, str(BENCH / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


GOOD = {
    "correct": True,
    "status": "correct",
    "flags": [],
    "environment": {"gpu": "a card"},
    "timing": {"speedup": {"value": 8.2, "low": 8.1, "high": 8.3}, "candidate_us": {"median": 130.0},
               "reference_us": {"median": 1066.0}, "note": None},
    "roofline": {"bound_us": 111.9, "calibrated_us": 125.0, "fraction": 0.96, "source": "calibrated", "fusion_gain": 9.0},
}


def changed(path: str, value) -> dict:
    verdict = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    place = verdict
    for name in parents:
        place = place[name]
    place[last] = value
    return verdict


@pytest.mark.parametrize(
    "verdict, says",
    [
        (GOOD, None),
        (changed("timing.speedup", {"value": 9.05, "low": 8.95, "high": 9.1}), None),  # within error of the cap
        (changed("timing.speedup", {"value": 9.5, "low": 9.1, "high": 9.9}), "above the cap of 9"),
        (changed("timing.candidate_us", {"median": 100.0}), "below the card's bound"),
        (changed("flags", ["superluminal"]), "below the card's bound"),
        (changed("roofline.fraction", 1.01), "fraction is above 1"),
        (changed("roofline.fusion_gain", 8.0), "gives 8.000, not 9"),
        (changed("roofline", None), None),
        (changed("timing.speedup", None), "no speedup"),
        ({"correct": False, "status": "incorrect", "feedback": "all wrong"}, "incorrect: all wrong"),
    ],
)
def test_new_gelu_calls_impossible_figures_wrong(verdict, says):
    problems = script("new_gelu").report(verdict)
    assert (problems == []) if says is None else any(says in problem for problem in problems), problems


def test_new_gelu_counts_the_traffic_of_the_chain():
    pytest.importorskip("torch")
    module = script("new_gelu")
    assert module.CAP == 9.0
    namespace: dict = {}
    exec(module.TASK.format(chain=module.CHAIN, rows=4, cols=4), namespace)
    (x,) = namespace["get_inputs"]()
    got = namespace["Model"]()(x)
    torch = namespace["torch"]
    assert torch.allclose(got, torch.nn.functional.gelu(x, approximate="tanh"), atol=1e-6)


def test_tf32_conv_counts_verdicts_that_break_a_promise(capsys):
    module = script("tf32_conv")
    row = {"policy": "ieee", "shape": "s", "operands": "tf32", "status": "incorrect", "promised": "incorrect", "bits": 11.7,
           "reference_bits": 22.1, "flags": []}
    assert module.print_verdicts([row, {**row, "bits": None, "status": "correct", "flags": ["reduced_precision"]}]) == 1
    assert "promised: incorrect" in capsys.readouterr().out


def test_tf32_conv_rounds_as_its_names_say():
    pytest.importorskip("torch")
    module = script("tf32_conv")
    rows = [module.bits_of(module.for_device(shape, "cpu"), "cpu") for shape in module.SHAPES[:3]]
    module.print_bits(rows)
    for row in rows:
        bits = row["bits"]
        assert bits["fp32"] > 20 and 10 < bits["tf32"] < 13 and 10 < bits["fp16"] < 13 and 7 < bits["bf16"] < 10, row
        assert row["us"] == {}
