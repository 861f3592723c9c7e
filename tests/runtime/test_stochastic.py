"""Random outputs: draws of the reference's distribution pass, everything cheaper does not."""

import itertools
import math
import random

import pytest
import torch

from assay.runtime import chance, health, stochastic, task, tree

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64))

    def forward(self, x):
        return {body}


def get_inputs():
    return [torch.{draw}({shape})]


def get_init_inputs():
    return []
"""
F = torch.nn.functional


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are small, and a busy machine makes threads wait for each other
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def loaded(tmp_path):
    def loaded(body, draw="randn", shape="64, 64"):
        return task.Task(TASK.format(body=body, draw=draw, shape=shape), "Model", "cpu", "cpu", str(tmp_path))

    return loaded


def judged(loaded, own, trials=1):
    """The figure by which each trial refuses ``own(model, x)``; "" where it passes."""
    lane, figures = chance.Chance(loaded), []
    draws = stochastic.draw_counts(loaded.random_elements, loaded.reference_us)[2]
    for trial in range(trials):
        loaded.build(100 + trial)
        inputs = loaded.draw(200 + trial)
        lane.begin(inputs, 200 + trial)
        torch.manual_seed(300 + trial)
        with torch.no_grad():
            for _ in range(draws):
                lane.add(tree.flatten(own(loaded.model, inputs[0]))[1])
        refused = lane.finish()
        figures.append(refused["figure"] if refused else "")
    return figures if trials > 1 else figures[0]


DROPOUT = "nn.functional.dropout(x, {p}, True)"


def dropout(p):
    """By hand, with other random numbers than torch's."""
    return lambda _, x: torch.where(torch.rand_like(x) < p, torch.zeros_like(x), x / (1 - p))


@pytest.mark.parametrize("p", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("draw", ["rand", "randn"])
def test_an_honest_dropout_passes(loaded, p, draw):
    assert judged(loaded(DROPOUT.format(p=p), draw), dropout(p), trials=3) == ["", "", ""]


HONEST = {
    "additive noise": ("x + torch.randn_like(x)", lambda m, x: x + torch.randn(x.shape)),
    "uniform noise from a normal's distribution": (
        "x + torch.rand_like(x)", lambda m, x: x + 0.5 * (1 + torch.erf(torch.randn_like(x) / math.sqrt(2)))),
    "bernoulli": ("torch.bernoulli(torch.sigmoid(x))", lambda m, x: (torch.rand_like(x) < torch.sigmoid(x)).float()),
    "booleans": ("torch.rand_like(x) < 0.3", lambda m, x: torch.rand_like(x) < 0.3),
    "integers": ("torch.multinomial(torch.softmax(x, 1), 4)", lambda m, x: torch.multinomial(torch.softmax(x, 1), 4)),
    "two outputs of one choice": (
        "(lambda k: (x * k, k))((torch.rand_like(x) < 0.5).float())",
        lambda m, x: (lambda k: (torch.where(k > 0, x, torch.zeros_like(x)), k))((torch.rand_like(x) >= 0.5).float())),
    "channels": ("nn.functional.dropout1d(x[None], 0.5, True)[0]",
                 lambda m, x: 2 * x * (torch.rand(x.shape[0], 1) < 0.5)),
    "dropout before a product": ("nn.functional.dropout(x, 0.2, True) @ torch.outer(self.weight, self.weight)",
                                 lambda m, x: dropout(0.2)(m, x) @ torch.outer(m.weight, m.weight)),
    "half precision": ("nn.functional.dropout(x.half(), 0.5, True)", lambda m, x: dropout(0.5)(m, x.half())),
    "a random scalar": ("(x * torch.rand_like(x)).mean()", lambda m, x: (torch.rand_like(x) * x).mean()),
    "rounding apart": (DROPOUT.format(p=0.5), lambda m, x: dropout(0.5)(m, x) * (1 + 2e-5)),
    "some outputs are not random": ("(x * 2, nn.functional.dropout(x, 0.5, True))", lambda m, x: (x + x, dropout(0.5)(m, x))),
}


@pytest.mark.parametrize("case", HONEST)
def test_honest_draws_pass(loaded, case):
    body, own = HONEST[case]
    assert judged(loaded(body), own, trials=2) == ["", ""]


def one_mask(p):
    mask = torch.rand(64, 64, generator=torch.Generator().manual_seed(1)) >= p
    return lambda _, x: x * mask / (1 - p)


def few_masks(p, count):
    masks = itertools.cycle(torch.rand(count, 64, 64, generator=torch.Generator().manual_seed(1)) >= p)
    return lambda _, x: x * next(masks) / (1 - p)


def with_tail(value):
    def own(m, x):
        y = dropout(0.2)(m, x)
        y.view(-1)[-20:] = value
        return y

    return own


def half_twice(p):
    def own(_, x):
        mask = torch.rand(32, 64) >= p
        return x * torch.cat([mask, mask]) / (1 - p)

    return own


# body -> what is cheaper, and a figure that must refuse it (several do)
CHEATS = {
    "zeros": (DROPOUT.format(p=0.2), lambda m, x: torch.zeros_like(x)),
    "a constant": (DROPOUT.format(p=0.2), lambda m, x: torch.full_like(x, 0.1)),
    "the expectation": (DROPOUT.format(p=0.2), lambda m, x: x.clone()),
    "one mask": (DROPOUT.format(p=0.2), one_mask(0.2)),
    "six masks in turn": (DROPOUT.format(p=0.2), few_masks(0.2, 6)),
    "not scaled": (DROPOUT.format(p=0.2), lambda m, x: x * (torch.rand_like(x) >= 0.2)),
    "another probability": (DROPOUT.format(p=0.2), dropout(0.17)),
    "one mask a row": (DROPOUT.format(p=0.5), lambda m, x: 2 * x * (torch.rand(64) < 0.5)),
    "one mask a column": (DROPOUT.format(p=0.5), lambda m, x: 2 * x * (torch.rand(64, 1) < 0.5)),
    "half of a mask, twice": (DROPOUT.format(p=0.5), half_twice(0.5)),
    "elements for channels": ("nn.functional.dropout1d(x[None], 0.5, True)[0]", dropout(0.5)),
    "no tail": (DROPOUT.format(p=0.2), with_tail(float("nan"))),
    "large values in the tail": (DROPOUT.format(p=0.2), with_tail(100.0)),
    "less noise": ("x + torch.randn_like(x)", lambda m, x: x + 0.8 * torch.randn_like(x)),
    "noise of another shape": ("x + torch.randn_like(x)", lambda m, x: x + math.sqrt(3) * (2 * torch.rand_like(x) - 1)),
    "noise about another mean": ("x + torch.randn_like(x)", lambda m, x: x + torch.randn_like(x) + 0.1),
    "the noise alone": ("x + torch.randn_like(x)", lambda m, x: math.sqrt(2) * torch.randn_like(x)),
    "bernoulli of one half": ("torch.bernoulli(torch.sigmoid(x))", lambda m, x: (torch.rand_like(x) < 0.5).float()),
    "rounded probabilities": ("torch.bernoulli(torch.sigmoid(x))", lambda m, x: (x > 0).float()),
    "uniform indices": ("torch.multinomial(torch.softmax(x, 1), 4)", lambda m, x: torch.randint(64, (64, 4))),
    "a mask that is not the one": (
        "(lambda k: (x * k, k))((torch.rand_like(x) < 0.5).float())",
        lambda m, x: (x * (torch.rand_like(x) < 0.5), (torch.rand_like(x) < 0.5).float())),
    "a scalar's expectation": ("(x * torch.rand_like(x)).mean()", lambda m, x: 0.5 * x.mean()),
    "seeded again": (DROPOUT.format(p=0.5), lambda m, x: (torch.manual_seed(0), dropout(0.5)(m, x))[1]),
}


@pytest.mark.parametrize("case", CHEATS)
def test_what_is_cheaper_is_refused(loaded, case):
    body, own = CHEATS[case]
    assert judged(loaded(body), own) != ""


def test_a_mask_that_comes_back_on_other_inputs_is_refused_in_a_later_trial(loaded):
    """Each trial alone sees new masks in every call."""
    calls = itertools.count()
    masks = torch.rand(24, 64, 64, generator=torch.Generator().manual_seed(1)) >= 0.5
    figures = judged(loaded(DROPOUT.format(p=0.5)), lambda m, x: 2 * x * masks[next(calls) % 24], trials=2)
    assert figures == ["", "remembered"]


def timed(loaded, own, rounds=10):
    """The figures by which single calls on inputs of their own are refused."""
    lane = chance.Chance(loaded)
    loaded.build(100)
    torch.manual_seed(300)
    found = []
    with torch.no_grad():
        for number in range(rounds):
            inputs = loaded.draw(200 + number)
            refused = lane.timed(inputs, 200 + number, tree.flatten(own(loaded.model, inputs[0]))[1])
            found.append(refused["figure"] if refused else "")
    return found


@pytest.mark.parametrize("case", HONEST)
def test_honest_timed_calls_pass(loaded, case):
    body, own = HONEST[case]
    assert set(timed(loaded(body), own)) == {""}


@pytest.mark.parametrize("own", [
    lambda m, x: x.clone(), lambda m, x: torch.zeros_like(x), one_mask(0.2), with_tail(float("nan")),
    lambda m, x: x * (torch.rand_like(x) >= 0.2), dropout(0.1),
], ids=["expectation", "zeros", "one mask", "no tail", "not scaled", "another probability"])
def test_cheap_timed_calls_are_refused(loaded, own):
    assert set(timed(loaded(DROPOUT.format(p=0.2)), own)) != {""}


def test_the_chance_of_so_many_is_told_for_any_number_of_rounds():
    exact = sum(math.comb(10, i) * 48 ** (10 - i) for i in range(5, 11)) / 49**10
    assert stochastic._at_least(5, 10, 1 / 49) == pytest.approx(exact, rel=1e-9)
    assert stochastic._at_least(2000, 4000, 0.5) == pytest.approx(0.5 + math.comb(4000, 2000) / 2**4001, rel=1e-6)
    assert stochastic._at_least(0, 9, 0.0) == 1.0 and stochastic._at_least(1, 9, 0.0) == 0.0


def test_random_choices_that_come_back_late_are_found(loaded):
    """Each call of the second half has one of two masks; the first half is honest, and more than is kept."""
    calls = itertools.count()
    masks = [torch.rand(64, 64, generator=torch.Generator().manual_seed(k)) >= 0.2 for k in (1, 2)]

    def own(m, x):
        call = next(calls)
        return dropout(0.2)(m, x) if call < 70 else x * masks[call % 2] / 0.8

    figures = timed(loaded(DROPOUT.format(p=0.2)), own, rounds=76)
    assert set(figures[:72]) == {""} and "remembered" in figures[72:]


def test_cheap_in_half_of_the_timed_calls_is_refused(loaded):
    """Fewer gain nothing: a median is paid."""
    calls = itertools.count()
    own = lambda m, x: dropout(0.2)(m, x) if next(calls) % 2 else x.clone()
    assert set(timed(loaded(DROPOUT.format(p=0.2)), own)) != {""}


def test_an_event_of_the_whole_batch_is_no_outlier(loaded):
    """A layer that is skipped now and then: most draws are alike, and one is nothing like them."""
    body = "x + x.tanh() * (torch.rand(1) >= 0.1)"
    honest = lambda m, x: x + (x.tanh() if float(torch.rand(1)) >= 0.1 else 0.0)
    judge = loaded(body)
    assert judge.random == {0}
    assert set(timed(judge, honest, rounds=30)) == {""}
    assert judged(judge, honest, trials=3) == ["", "", ""]


def test_an_old_mask_under_a_residual_is_found(loaded):
    body = "self.weight + nn.functional.dropout(x, 0.2, True)"
    mask = torch.rand(64, 64, generator=torch.Generator().manual_seed(1)) >= 0.2
    assert set(timed(loaded(body), lambda m, x: m.weight + x * mask / 0.8)[1:]) == {"remembered"}
    assert set(timed(loaded(body), lambda m, x: m.weight + dropout(0.2)(m, x))) == {""}


def test_which_outputs_are_random(loaded):
    assert loaded("x * 2").random == frozenset()
    assert loaded("(x * 2, nn.functional.dropout(x, 0.5, True))").random == {1}
    assert loaded("nn.functional.dropout(x * 0, 0.5, True)").random == frozenset(), "random numbers that reach nothing"
    # Two runs mostly agree; more are made where numbers were drawn.
    assert loaded("x[0] * (torch.rand(1) < 0.2).float()").random == {0}


def test_the_screen_asks_the_same_of_trivial_programs(loaded):
    sound = health.screen(loaded(DROPOUT.format(p=0.2)))
    assert sound["stochastic"] and sound["void"] == ""
    assert sound["families"] == ["native", "rare", "signed", "scaled"]


def test_the_test_is_exact():
    """All orders of m + n values, counted one by one."""
    for m, n in ((3, 2), (4, 4), (5, 3)):
        most = [stochastic._excess(*split) for split in splits(m, n)]
        for excess in range(1, m * n + 1):
            share = sum(value >= excess for value in most) / len(most)
            assert stochastic._chance_of(m, n, excess) == pytest.approx(share)


def splits(m, n):
    for chosen in itertools.combinations(range(m + n), m):
        yield [float(i) for i in chosen], [float(i) for i in range(m + n) if i not in chosen]


def test_ties_are_no_evidence():
    assert stochastic.significance([1.0] * 48, [1.0] * 24, 0.0) == 2.0
    assert stochastic.significance([0.0] * 48, [0.5] * 24, 1.0) == 2.0, "within the margin"
    assert stochastic.significance([0.0] * 48, [2.0] * 24, 1.0) < 1e-15
    assert stochastic.significance([0.0] * 48, [-2.0] * 24, 1.0) < 1e-15


def test_false_alarms_are_as_rare_as_stated():
    """Of samples of one distribution, a share p of the tests has a significance below p."""
    generator = random.Random(5)
    found = [stochastic.significance([generator.random() for _ in range(48)], [generator.random() for _ in range(24)], 0.0)
             for _ in range(4000)]
    for p in (0.1, 0.01, 0.001):
        assert sum(value < p for value in found) <= 4000 * p + 4 * math.sqrt(4000 * p) + 1


def test_draws_enough_to_refuse():
    """A figure that lies apart in all draws must count as refused, for pairs of draws too."""
    for elements in (10, 1 << 20):
        _, null, own = stochastic.draw_counts(elements, 10.0)
        for halves in (1, 2):
            assert stochastic.significance([0.0] * (null // halves), [1.0] * (own // halves), 0.0) < stochastic.ALPHA
    _, null, own = stochastic.draw_counts(10, 1e6)
    assert stochastic.significance([0.0] * null, [1.0] * own, 0.0) < stochastic.ALPHA
