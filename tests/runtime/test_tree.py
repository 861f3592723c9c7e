"""Nested values cross between processes as structure and tensors, and come back the same."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.runtime import tree

scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5)
values = st.recursive(
    scalars | st.builds(lambda n: torch.arange(n), st.integers(0, 5)),
    lambda inner: st.lists(inner, max_size=3)
    | st.tuples(inner, inner)
    | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def same(a, b) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and torch.equal(a, b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


@settings(max_examples=200, deadline=None)
@given(values)
def test_round_trip(value):
    spec, tensors = tree.flatten(value)
    assert same(value, tree.unflatten(spec, tensors, "cpu"))


def test_infinite_floats_dtypes_and_devices():
    spec, _ = tree.flatten([float("inf"), torch.float16, torch.device("cpu")])
    assert tree.unflatten(spec, [], "cpu") == [float("inf"), torch.float16, torch.device("cpu")]


@pytest.mark.parametrize("value", [object(), {1.5: 2}, [lambda: 0]])
def test_other_values_are_refused(value):
    with pytest.raises(tree.Unsupported):
        tree.flatten(value)


def test_bottomless_nesting_is_refused():
    value: list = []
    value.append(value)
    with pytest.raises(tree.Unsupported):
        tree.flatten(value)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(3, 5),
        torch.randn(5, 3).t(),
        torch.randn(4, 6)[:, ::2],
        torch.randn(1, 7).expand(4, 7),
        torch.randn(0, 3),
        torch.tensor(2.5),
        torch.arange(10, dtype=torch.int64),
        torch.randn(6).to(torch.bfloat16),
        torch.tensor([True, False]),
    ],
)
def test_a_tensor_keeps_values_and_strides_in_the_arena(tensor):
    places, end = tree.layout([torch.zeros(3), tensor], 0, keep_strides=True)
    assert all(place["offset"] % tree.ALIGNMENT == 0 for place in places)
    memory = torch.zeros(end + tree.ALIGNMENT, dtype=torch.uint8)
    target = tree.view(memory, places[1], tree.ALIGNMENT)
    tree.store(target, tensor)
    assert torch.equal(target, tensor) and target.stride() == tensor.stride()
