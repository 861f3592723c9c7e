"""Calls that are set aside while a timing has the device, and verified afterwards."""

import pytest
import torch

from assay.runtime import lane as lanes
from assay.runtime import native as native_constants
from assay.runtime import rounds, task, tree
from assay.runtime.arena import ArenaStore
from assay.runtime.results import DeviceResults

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


@pytest.fixture
def writing(tmp_path, native):
    """A lane whose reference writes its input."""
    text = TASK.replace("torch.relu(x)", "x.mul_(0.5).add_(1)")
    lane = lanes.Lane(task.Task(text, "Model", "cpu", "cpu", str(tmp_path)), 4, ArenaStore("cpu"), baselines=1)
    lane.weights(7)
    yield lane
    lane.close()


def slots_of(lane, arena):
    return rounds.Slots("cpu", lane.inputs.memory, arena.memory, lane.plan())


def test_each_process_writes_inputs_of_its_own(writing):
    writing.fill(0, [1, 2], rare=[1])
    drawn = [tree.flatten(writing.task.draw(seed, family))[1][0] for seed, family in ((1, "native"), (2, "rare"))]
    candidate, reference, baseline = (
        slots_of(writing, arena) for arena in (writing.outputs, *writing.reference_outputs)
    )
    candidate.args[0][0].zero_()
    reference.args[1][0].zero_()
    assert torch.equal(reference.args[0][0], drawn[0]) and torch.equal(candidate.args[1][0], drawn[1])
    assert all(torch.equal(baseline.args[slot][0], drawn[slot]) for slot in (0, 1))
    assert writing.inputs.size < writing.outputs.size, "the memory of all holds no inputs"


def test_late_words_are_those_of_the_process_that_comes_next(writing):
    writing.fill(0, [1])
    drawn = tree.flatten(writing.task.draw(1))[1][0]
    candidate, reference = (slots_of(writing, arena) for arena in (writing.outputs, writing.reference_outputs[0]))
    addresses, words = writing.late_words(1).swap(0, 1)
    assert len(addresses) == len(words) > 0
    assert torch.equal(candidate.args[0][0], drawn) and not torch.equal(reference.args[0][0], drawn)


def test_what_a_submission_may_write_is_not_taken_for_a_change(writing):
    writing.fill(0, [1])
    candidate = slots_of(writing, writing.outputs)
    candidate.results[0][0].copy_(candidate.args[0][0].mul_(0.5).add_(1))
    assert writing.keep(0, [], [])
    report = writing.verify_kept(9)[1]
    assert report["passed"] and not report["inputs_changed"]


def test_what_a_submission_writes_while_inputs_are_drawn_reaches_nobody_else(writing, monkeypatch):
    """Work that it left on the device may begin as soon as the judge writes into its memory."""
    candidate, reference = (slots_of(writing, arena) for arena in (writing.outputs, writing.reference_outputs[0]))
    drawn = writing._draw

    def disturbed(slot, *rest):
        drawn(slot, *rest)
        candidate.args[slot][0].fill_(7)

    monkeypatch.setattr(writing, "_draw", disturbed)
    writing.fill(0, [1, 2])
    for slot, seed in enumerate((1, 2)):
        assert torch.equal(reference.args[slot][0], tree.flatten(writing.task.draw(seed))[1][0])


class Page:
    """What a process writes into its control page."""

    lost = False

    def places(self, offsets, strides):
        self.lost = any(place == native_constants.LOST for place in offsets)


def served_by(lane, timed, page=None):
    memory = DeviceResults(torch.empty(0), lane.plan(), False) if timed else None
    return rounds.Rounds("cpu", page, slots_of(lane, lane.outputs), 1, False, memory)


def test_checked_calls_that_write_are_taken_one_by_one(writing):
    """Outputs that are random take several calls a round, untimed."""
    buffer = torch.empty(16, 32)
    writing.fill(1, [3, 4, 5])
    served_by(writing, timed=False)._one(
        lambda x: buffer.copy_(x.mul_(0.5).add_(1)), 1, 3, rounds.Marks("cpu", 3, []), []
    )
    for slot in (1, 2, 3):
        assert writing.keep(slot, [], [])
    assert writing.verify_kept(9)[1]["passed"]


def test_a_timed_round_whose_results_are_overwritten_is_lost_once(writing):
    page = Page()
    served = served_by(writing, timed=True, page=page)
    ring = [torch.empty(16, 32) for _ in range(2)]
    calls = iter(range(100))

    def module(x):
        return ring[next(calls) % 2].copy_(x.mul_(0.5).add_(1))

    def serve(first, count):
        writing.fill(first, list(range(10, 10 + count)))
        served._one(module, first, count, rounds.Marks("cpu", count, []), [])

    serve(0, 2)
    assert not page.lost and not served.reused
    serve(0, 3)
    assert page.lost and served.reused
    serve(0, 3)
    assert not page.lost
    for slot in (0, 1, 2):
        assert writing.keep(slot, [], [])
    assert writing.verify_kept(9)[1]["passed"]


def test_returning_ones_input_twice_is_not_returning_one_buffer(writing):
    served = served_by(writing, timed=False)
    for slot in (0, 0, 2):
        writing.fill(slot, [3 + slot])
        served._one(lambda x: x.mul_(0.5).add_(1), slot, 1, rounds.Marks("cpu", 1, []), [])
    assert not served.reused_once
    buffer = torch.empty(16, 32)
    for slot in (0, 1):
        served._one(lambda x: buffer.copy_(x), slot, 1, rounds.Marks("cpu", 1, []), [])
    assert served.reused_once and served.reused, "before results are lost by it"


def test_what_a_call_does_to_the_objects_that_it_gets_is_gone_with_it(tmp_path, native):
    text = TASK.replace("torch.relu(x)", 'x["a"].mul_(2)').replace(
        "[torch.randn(16, 32)]", '[{"a": torch.randn(16, 32), "steps": 3}]'
    )
    lane = lanes.Lane(task.Task(text, "Model", "cpu", "cpu", str(tmp_path)), 2, ArenaStore("cpu"))
    served = rounds.Rounds("cpu", None, slots_of(lane, lane.outputs), 1, False, None)
    seen = []

    def module(x):
        seen.append(x["steps"])
        x["steps"] += 1
        x["a"].unsqueeze_(0)
        return x.pop("a")[0] * 2

    for _ in range(2):
        lane.fill(0, [1])
        served._one(module, 0, 1, rounds.Marks("cpu", 1, []), [])
    assert seen == [3, 3]
    lane.close()


def test_memory_that_was_short_for_a_moment_decides_nothing(lane, monkeypatch):
    round_of(lane, 0, 1)
    monkeypatch.setattr(lane.task, "_run_twin", lambda inputs: (_ for _ in ()).throw(torch.OutOfMemoryError("")))
    lane.expect(0)
    assert lane.task.exact is torch.float64 and lane.ahead is None
    monkeypatch.undo()
    assert lane.verify(0, [], [], True)["passed"] and lane.task.compared_with == "float64"


def test_what_is_computed_ahead_is_compared_with(lane, monkeypatch):
    for wrong in (0.0, 0.5):
        round_of(lane, 0, 1, wrong)
        lane.expect(0)
        with monkeypatch.context() as patched:
            patched.setattr(lane.task, "expected", None)  # not asked again
            assert lane.verify(0, [], [], True)["passed"] == (not wrong)


def test_what_is_computed_ahead_is_of_those_inputs_and_weights(lane):
    round_of(lane, 0, 1)
    lane.expect(0)
    round_of(lane, 0, 2)
    assert lane.verify(0, [], [], True)["passed"]
    lane.expect(0)
    lane.weights(8)
    assert lane.ahead is None
    lane.expect(0)
    lane.targets(0)[0][0, 0] += 1
    assert lane.verify(0, [], [], True)["inputs_changed"]


def test_expected_values_that_are_wrong_once_accuse_nobody(lane, monkeypatch, capfd):
    """A few wrong elements may be the judge's own: they are computed again before anyone is told."""
    honest, runs = lane.task.expected, []

    def wrong_once(inputs, want_exact, family):
        eager, exact = honest(inputs, want_exact, family)
        runs.append(family)
        if len(runs) == 1:
            eager[0][3, 4] += 1
            exact[0][3, 4] += 1
        return eager, exact

    round_of(lane, 0, 1)
    monkeypatch.setattr(lane.task, "expected", wrong_once)
    assert lane.verify(0, [], [], True)["passed"] and len(runs) == 2
    assert "wrong once" in capfd.readouterr().err
    lane.results(0, [], [])[0][3, 4] += 1
    report = lane.verify(0, [], [], True)
    assert not report["passed"] and report["worst"]["first_bad"] == [3, 4] and len(runs) == 4
