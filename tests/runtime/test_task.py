"""What an examination of a task finds out, and which tasks cannot be judged."""

import pytest
import torch

from assay.runtime.task import Task

FRAME = """
import os
import torch

calls = 0


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(8, 500, 64))
        self.generator = torch.Generator().manual_seed(1)

    def forward(self, x):
        {forward}


def get_inputs():
    return [torch.randn(500, 64)]


def get_init_inputs():
    return []
"""


def examined(tmp_path, forward: str, source: str = FRAME) -> Task:
    return Task(source.format(forward=forward), "Model", "cpu", "cpu", str(tmp_path))


@pytest.mark.parametrize("forward", [
    "self.last = torch.cat([self.last[1:], x[None]]); return self.last.mean(0)",
    "self.last += 1; return x + self.last[0]",
    "return x + torch.rand(x.shape, generator=self.generator)",
], ids=["window", "counter", "generator of its own"])
def test_a_reference_with_state_is_refused(tmp_path, forward):
    with pytest.raises(ValueError, match="keeps state"):
        examined(tmp_path, forward)


def test_state_that_no_output_shows_is_none(tmp_path):
    assert not examined(tmp_path, "self.last += 1; return x * 2").random


def test_what_differs_in_new_modules_too_is_chance(tmp_path):
    noise = "return x + torch.frombuffer(bytearray(os.urandom(x.numel())), dtype=torch.uint8).view(x.shape)"
    assert examined(tmp_path, noise).random == {0}
    assert examined(tmp_path, "return torch.nn.functional.dropout(x)").random == {0}


@pytest.mark.parametrize("forward", ["return x * 2, x.sum().item()", "return x[x > 0]", "return torch.unique((x * 100).round())"])
def test_outputs_whose_form_depends_on_values_are_refused(tmp_path, forward):
    with pytest.raises(ValueError, match="depend on the values"):
        examined(tmp_path, forward)


def test_a_family_must_be_well_conditioned_in_every_draw(tmp_path):
    assert examined(tmp_path, "return x.relu() * 3").families == ["native", "rare", "signed", "scaled"]
    uniform = FRAME.replace("randn(500, 64)", "rand(500, 1024)")
    families = examined(tmp_path, "return x / x.mean(1, keepdim=True)", uniform).families
    assert "signed" not in families and "scaled" not in families


def test_what_a_lane_learns_of_eager_stays_its_own(tmp_path):
    task = examined(tmp_path, "return x.exp()")
    lane = task.for_lane()
    lane.eager_errors["native"][0].worst = 7.0
    assert task.eager_errors["native"][0].worst < 1 and task.for_lane().eager_errors["native"][0].worst < 1


def test_inputs_that_never_change_are_told(tmp_path):
    source = FRAME.replace("[torch.randn(500, 64)]", "[torch.randn(500, 64), torch.arange(512.0)]")
    task = examined(tmp_path, "return x", source.replace("forward(self, x)", "forward(self, x, fixed)"))
    assert task.constant_inputs and not task.same_inputs
    assert not examined(tmp_path, "return x").constant_inputs


def out_of_memory(*_):
    raise torch.OutOfMemoryError("CUDA out of memory")


def test_where_float64_does_not_fit_float32_without_shortcuts_is_the_measure(tmp_path, monkeypatch):
    task = examined(tmp_path, "return x @ x.T").for_lane()
    task.build(seed=1)
    x = task.draw(2)
    eager, exact = task.expected(x, want_exact=True)
    assert exact[0].dtype == torch.float64 and task.compared_with == "float64"
    assert not torch.equal(exact[0], eager[0].double())

    starved = examined(tmp_path, "return x @ x.T").for_lane()
    starved.build(seed=1)
    monkeypatch.setattr(torch.nn.Module, "double", out_of_memory)
    eager, exact = starved.expected(x, want_exact=True)
    assert starved.compared_with == "strict float32" and "out of memory" in starved.why_not_exact
    assert exact[0].dtype == torch.float64 and torch.equal(exact[0], eager[0].double())

    nothing = examined(tmp_path, "return x @ x.T").for_lane()
    nothing.build(seed=1)
    monkeypatch.setattr(torch.nn.Module, "float", out_of_memory)
    assert nothing.expected(x, want_exact=True)[1] is None and nothing.compared_with == "float32"


def test_a_reference_that_does_not_run_in_float64_is_asked_for_its_own_inputs_alone(tmp_path):
    """It may be no function of them: a table of expected outputs, say."""
    task = examined(tmp_path, "assert x.dtype == torch.float32; return x * 2")
    assert task.families == ["native"]
    task = task.for_lane()
    task.build(seed=1)
    assert task.expected(task.draw(2), want_exact=True)[1] is None and task.compared_with == "float32"
