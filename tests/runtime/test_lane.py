"""Calls that are set aside while a timing has the device, and verified afterwards."""

import pytest
import torch

from assay.runtime import lane as lanes
from assay.runtime import task, tree
from assay.runtime.arena import ArenaStore

TASK = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(16, 32)]


def get_init_inputs():
    return []
"""


@pytest.fixture
def lane(tmp_path, native):
    lane = lanes.Lane(task.Task(TASK, "Model", "cpu", "cpu", str(tmp_path)), 2, ArenaStore("cpu"))
    lane.weights(7)
    yield lane
    lane.close()


def round_of(lane, slot, seed, wrong=0.0):
    """As a candidate would: new inputs, and its result in the slot."""
    lane.fill(slot, [seed])
    [place] = lane.task.output_places
    target = tree.view(lane.outputs.memory, place, slot * lane.task.output_bytes)
    target.copy_(torch.relu(lane.targets(slot)[0]) + wrong)


def test_what_was_kept_is_judged_although_other_rounds_followed(lane):
    for seed in (1, 2, 3):
        round_of(lane, 0, seed)
        assert lane.keep(0, [], [])
    count, report = lane.verify_kept(60)
    assert count == 3 and report["passed"] and not report["inputs_changed"]
    assert lane.verify_kept(60) == (0, None)


def test_verifying_ends_with_its_time_and_goes_on(lane):
    for seed, wrong in ((1, 0.0), (2, 0.5), (3, 0.0)):
        round_of(lane, 0, seed, wrong)
        assert lane.keep(0, [], [])
    count, report = lane.verify_kept(0)
    assert count == 1 and report["passed"]
    count, report = lane.verify_kept(0)
    assert count == 1 and not report["passed"]
    assert lane.verify_kept(60) == (0, None), "what follows a wrong call is of no interest"


def test_one_wrong_call_among_right_ones_is_found(lane):
    for seed, wrong in ((1, 0.0), (2, 0.5), (3, 0.0)):
        round_of(lane, 0, seed, wrong)
        assert lane.keep(0, [], [])
    count, report = lane.verify_kept(60)
    assert count == 2 and not report["passed"]


def test_inputs_that_were_written_are_found(lane):
    for seed in (1, 2):
        round_of(lane, 1, seed)
        if seed == 1:
            lane.targets(1)[0][3, 4] += 1
        assert lane.keep(1, [], [])
    assert lane.verify_kept(60)[1]["inputs_changed"]


def test_an_output_that_was_never_written_is_wrong(lane):
    lane.fill(0, [5])
    assert lane.keep(0, [], [])
    assert not lane.verify_kept(60)[1]["passed"], "poison"


def test_a_place_outside_is_refused_at_once(lane):
    round_of(lane, 0, 1)
    with pytest.raises(lanes.OutsideError):
        lane.keep(0, [lane.outputs.size], [32, 1, *[0] * 6])
    assert lane.verify_kept(60) == (0, None)


def test_large_calls_are_verified_at_once(lane, monkeypatch):
    monkeypatch.setattr(lanes, "KEPT_BYTES", lane.task.input_bytes + lane.task.output_bytes - 1)
    round_of(lane, 0, 1)
    assert not lane.keep(0, [], [])
    with pytest.raises(lanes.OutsideError):
        lane.keep(0, [lane.outputs.size], [32, 1, *[0] * 6])


def test_an_expanded_input_counts_as_what_its_copy_takes(tmp_path, native, monkeypatch):
    text = TASK.replace("torch.randn(16, 32)", "torch.randn(1, 32).expand(16, 32)")
    lane = lanes.Lane(task.Task(text, "Model", "cpu", "cpu", str(tmp_path)), 2, ArenaStore("cpu"))
    lane.weights(7)
    assert lane.task.input_bytes < 16 * 32 * 4
    monkeypatch.setattr(lanes, "KEPT_BYTES", 2 * 16 * 32 * 4 - 1)
    round_of(lane, 0, 1)
    assert not lane.keep(0, [], [])
    monkeypatch.setattr(lanes, "KEPT_BYTES", 2 * 16 * 32 * 4)
    assert lane.keep(0, [], []) and lane.verify_kept(60)[1]["passed"]
    lane.close()


def test_a_slot_of_a_round_may_be_rare(lane):
    lane.fill(0, [11, 12], rare=[1])
    plain, rare = (lane.targets(slot)[0].clone() for slot in (0, 1))
    native = tree.flatten(lane.task.draw(12))[1][0]
    assert torch.equal(plain, tree.flatten(lane.task.draw(11))[1][0])
    assert int((rare != native).sum()) == 32 and torch.equal(rare, tree.flatten(lane.task.draw(12, "rare"))[1][0])
    for slot in (0, 1):
        [place] = lane.task.output_places
        target = tree.view(lane.outputs.memory, place, slot * lane.task.output_bytes)
        target.copy_(torch.relu(lane.targets(slot)[0]))
        assert lane.keep(slot, [], [])
    assert lane.verify_kept(9)[1]["passed"]
