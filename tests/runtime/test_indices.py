"""Indices are right when they point at the right value."""

import torch

from assay.runtime import indices


def tied(seed=0):
    torch.manual_seed(seed)
    return torch.randint(0, 5, (8, 64, 16)).float()  # ties everywhere


def last_argmax(x, dim):
    return x.shape[dim] - 1 - x.flip(dim).argmax(dim)


def settled(rules, number, y, eager, inputs):
    return torch.equal(rules[number].settled(y, eager, inputs), eager)


def test_any_place_of_the_maximum_is_right():
    x = tied()
    eager = x.argmax(1)
    rules = indices.find([x], [eager])
    assert settled(rules, 0, last_argmax(x, 1), eager, [x])
    assert not settled(rules, 0, x.argmin(1), eager, [x])
    assert not settled(rules, 0, torch.zeros_like(eager), eager, [x])


def test_outside_of_the_dimension_is_wrong_and_harmless():
    x = tied()
    eager = x.argmax(1, keepdim=True)
    rules = indices.find([x], [eager])
    for wrong in (-1, 64, 1 << 40):
        assert not settled(rules, 0, torch.full_like(eager, wrong), eager, [x])


def test_each_place_of_a_sort_is_named_once():
    x = tied()
    values, eager = x.sort(dim=1, stable=True)
    rules = indices.find([x], [values, eager])
    order = (x + torch.arange(64, 0, -1).view(1, -1, 1) * 1e-3).argsort(1)  # ties the other way round
    assert torch.equal(x.gather(1, order), values) and not torch.equal(order, eager)
    assert settled(rules, 1, order, eager, [x])
    same = x.argmin(1, keepdim=True).expand_as(eager)
    repeated = torch.where(x.gather(1, eager) == x.amin(1, keepdim=True), same, eager)
    assert torch.equal(x.gather(1, repeated), values)
    assert not settled(rules, 1, repeated, eager, [x])


def test_topk_and_max_have_rules_and_other_integers_have_none():
    x = tied()
    top = x.topk(3, dim=2)
    assert set(indices.find([x], [top.values, top.indices])) == {1}
    best = x.max(dim=0)
    assert set(indices.find([x], [best.values, best.indices])) == {1}
    assert indices.find([x], [torch.randint(0, 9, (8, 16))]) == {}
    assert indices.find([torch.randint(0, 9, (8, 16))], [torch.zeros(8, dtype=torch.int64)]) == {}
    assert indices.find([x], [x.argmax(1).int()]) == {}
