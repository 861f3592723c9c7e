"""Smaller inputs: what a reference accepts is found by trying, and never anything else."""

import pytest
import torch

from assay.runtime import shapes, task, tree
from assay.runtime.arena import ArenaStore
from assay.runtime.lane import Lane

TASK = """
import torch
import torch.nn as nn

{extra}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 8)

    def forward(self, x{more}):
        return {body}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


@pytest.fixture
def loaded(tmp_path):
    def loaded(body, inputs="torch.randn(16, 32)", more="", extra=""):
        source = TASK.format(body=body, inputs=inputs, more=more, extra=extra)
        return task.Task(source, "Model", "cpu", "cpu", str(tmp_path))

    return loaded


def found(loaded):
    result = loaded.jittered()
    return result and result.shapes


@pytest.mark.parametrize("size, less", [(1, 1), (2, 1), (3, 1), (4, 3), (5, 3), (16, 11), (17, 13), (1000, 749)])
def test_smaller_sizes_are_odd(size, less):
    assert shapes.smaller(size) == less
    assert all(shapes.smaller(n) < n and shapes.smaller(n) % 2 == 1 for n in range(2, 300))


@pytest.mark.parametrize("body, inputs, more, expected", [
    ("torch.relu(x)", "torch.randn(16, 32)", "", [[11, 23]]),
    ("self.linear(x)", "torch.randn(16, 32)", "", [[11, 32]]),
    ("x @ y", "torch.randn(16, 32), torch.randn(32, 8)", ", y", [[11, 23], [23, 5]]),
    ("x @ x", "torch.randn(16, 16)", "", [[11, 11]]),
    ("x + y", "torch.randn(16, 32), torch.randn(32)", ", y", [[11, 23], [23]]),
    ("x.sum()", "torch.randn(32)", "", [[23]]),
    ("nn.functional.conv2d(x, self.linear.weight.view(8, 4, 2, 4))", "torch.randn(4, 4, 16, 16)", "", [[3, 4, 11, 11]]),
    ("x.view(16, 4, 8).sum(1)", "torch.randn(16, 32)", "", None),
    ("x * y", "torch.randn(16, 32), torch.tensor(2.0)", ", y", [[11, 23], []]),
])
def test_what_the_reference_accepts(loaded, body, inputs, more, expected):
    assert found(loaded(body, inputs, more)) == expected


def test_integers_that_could_point_beyond_keep_their_size(loaded):
    task_ = loaded("x.gather(1, y)", "torch.randn(64, 32), torch.randint(0, 32, (64, 4))", ", y")
    assert found(task_) is None
    small = loaded("x.gather(1, y)", "torch.randn(64, 32), torch.randint(0, 4, (64, 4))", ", y")
    assert found(small) == [[47, 23], [47, 4]]


@pytest.mark.parametrize("loader", [
    {"body": "nn.functional.dropout(x, 0.5, True)"},
    {"body": "torch.relu(x)", "extra": 'CHECK = "backward"\n'},
    {"body": "torch.relu(x)", "inputs": "torch.randn(1)"},
])
def test_where_there_are_none(loaded, loader):
    assert found(loaded(**loader)) is None


def test_a_task_may_ask_for_them(loaded):
    assert not loaded("torch.relu(x)").general_shapes
    assert loaded("torch.relu(x)", extra='SHAPES = "general"\n').general_shapes
    with pytest.raises(ValueError, match="SHAPES is 'any'; there are fixed, general"):
        loaded("torch.relu(x)", extra='SHAPES = "any"\n')


def written(lane, slot):
    """Where a candidate would put its result of a jittered call."""
    [place] = lane.task.jittered().output_places
    return tree.view(lane.outputs.memory, place, slot * lane.task.output_bytes)


@pytest.fixture
def lane(loaded, native):
    lane = Lane(loaded("torch.relu(x) * 2"), 2, ArenaStore("cpu"))
    yield lane
    lane.close()


def test_a_lane_asks_and_compares_them(lane):
    lane.weights(7)
    lane.fill(1, [42], shapes.JITTERED)
    [given] = lane.targets(1, shapes.JITTERED)
    assert given.shape == (11, 23)
    assert torch.equal(given, tree.flatten(lane.task.draw(42))[1][0][:11, :23]), "a corner of the task's own draw"
    assert not lane.verify(1, [], [], True)["passed"], "poison"
    written(lane, 1).copy_(torch.relu(given) * 2)
    assert lane.verify(1, [], [], True)["passed"]
    written(lane, 1)[10, 22] += 1
    report = lane.verify(1, [], [], True)
    assert not report["passed"] and report["worst"]["first_bad"] == [10, 22]
    lane.fill(1, [43])
    assert lane.targets(1)[0].shape == (16, 32)
