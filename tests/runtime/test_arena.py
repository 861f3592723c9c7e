"""Shared memory that is kept for the next lane: by kind and size, within a bound, and never for long."""

import pytest
import torch

from assay.runtime import arena
from assay.runtime.arena import GPU_PAGE, ArenaStore, size_class
from assay.runtime.native import NativeError


class Piece:
    """An arena without memory of the device."""

    def __init__(self, size):
        self.size, self.memory, self.closed = size, torch.full((4,), 7), False

    def close(self):
        self.closed = True


@pytest.fixture
def store(monkeypatch):
    """A store that may keep 64 pages of a device with ``store.room`` bytes."""
    kept = ArenaStore("cpu")
    kept.device = "cuda"
    kept.least = kept.most = 64 * GPU_PAGE
    kept.limit = 200 * GPU_PAGE
    kept.made, kept.emptied, kept.room = [], [], 1000 * GPU_PAGE

    def create(device, size, sealed):
        if sum(piece.size for piece in kept.made if not piece.closed) + size > kept.room:
            raise NativeError("out of memory")
        kept.made.append(Piece(size))
        return kept.made[-1]

    monkeypatch.setattr(arena.Arena, "create", staticmethod(create))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: kept.emptied.append(True))
    return kept


def test_what_was_given_back_is_taken_again_and_is_zero(store):
    first = store.take("shared", 3 * GPU_PAGE)
    store.give("shared", first)
    assert store.take("shared", 3 * GPU_PAGE) is first
    assert first.memory.sum() == 0 and not first.closed
    assert store.take("shared", 3 * GPU_PAGE) is not first


def test_memory_of_one_kind_never_becomes_the_other(store):
    first = store.take("shared", GPU_PAGE)
    store.give("shared", first)
    assert store.take("expected", GPU_PAGE) is not first


def test_no_more_is_kept_than_the_bound(store):
    pieces = [store.take("shared", 30 * GPU_PAGE) for _ in range(3)]
    for piece in pieces:
        store.give("shared", piece)
    assert [piece.closed for piece in pieces] == [True, False, False]


def test_a_large_lane_is_kept_only_while_nobody_else_needs_the_memory(store):
    large = store.take("shared", 65 * GPU_PAGE + 1)
    assert large.size == 66 * GPU_PAGE
    store.allow(66 * GPU_PAGE)
    store.give("shared", large)
    assert not large.closed
    store.allow(0)
    store.expect([("shared", 65 * GPU_PAGE + 1)])
    assert store.take("shared", 65 * GPU_PAGE + 1) is large, "what a new lane takes is its own need"
    store.give("shared", large)
    assert large.closed


def test_a_device_that_nobody_needs_is_not_filled(store):
    pieces = [store.take("shared", 99 * GPU_PAGE) for _ in range(3)]
    store.allow(1000 * GPU_PAGE)
    for piece in pieces:
        store.give("shared", piece)
    assert [piece.closed for piece in pieces] == [True, False, False]


def test_a_lane_that_needs_the_memory_gets_it(store):
    store.allow(200 * GPU_PAGE)
    pieces = [store.take("shared", 66 * GPU_PAGE), store.take("expected", GPU_PAGE)]
    for kind, piece in zip(("shared", "expected"), pieces):
        store.give(kind, piece)
    store.allow(0)
    store.expect([("expected", 66 * GPU_PAGE)])
    assert [piece.closed for piece in pieces] == [True, False]


def test_what_is_kept_makes_room_when_there_is_none(store):
    small = store.take("shared", GPU_PAGE)
    store.give("shared", small)
    store.room = GPU_PAGE
    assert store.take("expected", GPU_PAGE).size == GPU_PAGE and small.closed
    assert store.emptied, "what torch keeps for later is given back too"


def test_no_memory_is_said_where_nothing_is_kept(store):
    store.room = 0
    with pytest.raises(NativeError):
        store.take("shared", GPU_PAGE)


def test_on_the_cpu_nothing_is_kept(native):
    store = ArenaStore("cpu")
    memory = store.take("shared", 1 << 16, True)
    store.give("shared", memory)
    assert store.kept == [] and memory.memory is None


@pytest.mark.parametrize("size", [1, GPU_PAGE, GPU_PAGE + 1, 17 * GPU_PAGE, 1000 * GPU_PAGE + 5, 1 << 34])
def test_size_classes_waste_an_eighth_at_most(size):
    rounded = size_class(size)
    assert rounded >= size and rounded % GPU_PAGE == 0
    assert rounded - size < max(GPU_PAGE, size / 8 + 1)
    assert size_class(rounded) == rounded
