"""Inputs whose last words come when a round begins."""

import torch
from assay.runtime import tree
from assay.runtime.late_words import WORDS, LateWords

SLOTS, FIRST, COUNT, AT = 6, 2, 3, 1024


def inputs(seed=0):
    """An arena with SLOTS inputs of a float32, an int64 and a single bool tensor each."""
    torch.manual_seed(seed)
    tensors = [torch.randn(64, 33), torch.randint(0, 50, (40,)), torch.ones(1, dtype=torch.bool)]
    places, size = tree.layout(tensors, 0, keep_strides=True)
    memory = torch.zeros(AT + SLOTS * size + 4096, dtype=torch.uint8)
    for slot in range(SLOTS):
        for place in places:
            view = tree.view(memory, place, AT + slot * size)
            view.copy_(torch.randn(view.shape) if view.is_floating_point() else torch.randint(0, 50, view.shape))
    return memory, places, size


def views(memory, places, size, slot):
    return [tree.view(memory, place, AT + slot * size) for place in places]


def test_every_chosen_input_is_incomplete_and_no_other_one():
    memory, places, size = inputs()
    before = memory.clone()
    LateWords(memory, places, AT, size).swap(FIRST, COUNT)
    for slot in range(SLOTS):
        changed = [
            not torch.equal(a, b) for a, b in zip(views(memory, places, size, slot), views(before, places, size, slot))
        ]
        assert changed == ([True, True, False] if FIRST <= slot < FIRST + COUNT else [False] * 3)


def test_what_stands_there_meanwhile_are_values_of_the_same_tensor():
    memory, places, size = inputs()
    before = memory.clone()
    LateWords(memory, places, AT, size).swap(FIRST, COUNT)
    for now, then in zip(views(memory, places, size, FIRST)[:2], views(before, places, size, FIRST)[:2]):
        assert set(now.flatten().tolist()) <= set(then.flatten().tolist())


def test_the_stores_make_them_whole():
    memory, places, size = inputs()
    before = memory.clone()
    addresses, words = LateWords(memory, places, AT, size).swap(FIRST, COUNT)
    assert len(addresses) == len(words) == 2 * WORDS * COUNT
    at = addresses - memory.data_ptr()
    assert int(at.min()) >= AT + FIRST * size and int(at.max()) + 8 <= AT + (FIRST + COUNT) * size
    memory[: memory.numel() // 8 * 8].view(torch.int64)[at // 8] = words
    assert torch.equal(memory, before)


def test_places_differ_from_round_to_round():
    memory, places, size = inputs()
    late = LateWords(memory, places, AT, size)
    first, words = late.swap(0, 1)
    memory[: memory.numel() // 8 * 8].view(torch.int64)[(first - memory.data_ptr()) // 8] = words
    assert not torch.equal(first, late.swap(0, 1)[0])


def test_inputs_without_a_tensor_that_is_large_enough_are_complete():
    memory = torch.zeros(1 << 13, dtype=torch.uint8)
    places, size = tree.layout([torch.ones(3)], 0, keep_strides=True)
    addresses, words = LateWords(memory, places, 0, size).swap(0, 4)
    assert addresses.numel() == words.numel() == 0
