"""Statistics of evaluations. All are deterministic for a seed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import _core
from ._arrays import Array, flags, flat, integers, seed_of, to_numpy
from ._arrays import ids as _ids


class Interval(NamedTuple):
    value: float
    low: float
    high: float


def pass_at_k(n: int, c: int, k: int) -> float:
    """1 - C(n - c, k) / C(n, k) for n samples of which c pass (2107.03374). ValueError unless
    0 <= c <= n and 1 <= k <= n."""
    return _core.pass_at_k(n, c, k)


def mean_pass_at_k(n: Array, c: Array, k: int) -> float:
    """Mean of pass_at_k over tasks; n, c are (tasks,) counts. ValueError without tasks, and where pass_at_k
    raises it."""
    return _core.mean_pass_at_k(integers(n, "n"), integers(c, "c"), k)


def best_at_k(values: Array, k: int) -> float:
    """Expected best of k of the values ((samples,), any unit) drawn without replacement: sum_i x_(i)
    C(n - i, k - 1) / C(n, k), x_(1) the best. ValueError unless 1 <= k <= n."""
    return _core.best_at_k(flat(values, "values", np.float64), k)


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Score interval of a proportion (Wilson 1927): (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) /
    (1 + z^2/n). ValueError unless 0 <= successes <= trials."""
    return Interval(*_core.wilson(successes, trials, confidence))


def fast_p(
    correct: Array, speedup: Array, p: float, *, inclusive: bool = False, confidence: float = 0.95
) -> Interval:
    """Share of tasks ((tasks,) correct, speedup) that are correct with speedup > p (2502.10517;
    inclusive: >=), with Wilson's interval. ValueError on lengths, and on p or a correct task's speedup that
    is NaN."""
    if np.isnan(p):
        raise ValueError("p is nan; give the speedup to exceed")
    speed = flat(speedup, "speedup", np.float64)
    return Interval(*_core.fast_p(flags(correct, "correct"), speed, p, inclusive, confidence))


def bca_mean(
    values: Array, *, resamples: int = 10000, seed: int = 0, confidence: float = 0.95
) -> Interval:
    """Bias-corrected accelerated bootstrap of the mean (Efron 1987); values (tasks,). ValueError without
    values, on ones that are not finite, and on resamples < 1."""
    return Interval(*_core.bca_mean(flat(values, "values", np.float64), resamples, seed_of(seed), confidence))


def bca_geometric_mean(
    values: Array, *, resamples: int = 10000, seed: int = 0, confidence: float = 0.95
) -> Interval:
    """Geometric mean of positive values (speedups), with bca_mean's interval on logarithms. ValueError as
    there, and on values that are not positive."""
    return Interval(
        *_core.bca_geometric_mean(flat(values, "values", np.float64), resamples, seed_of(seed), confidence)
    )


def bootstrap_median(
    values: Array, *, resamples: int = 10000, seed: int = 0, confidence: float = 0.95
) -> Interval:
    """Median with a percentile bootstrap; arguments and errors as in bca_mean."""
    return Interval(
        *_core.bootstrap_median(flat(values, "values", np.float64), resamples, seed_of(seed), confidence)
    )


def mcnemar(only_a: int, only_b: int) -> tuple[float, float]:
    """(exact, mid-p) two-sided p-values of the paired comparison of two proportions; the arguments are
    the numbers of tasks that only one of the two solves. ValueError unless both are in [0, 10^9]."""
    return _core.mcnemar(only_a, only_b)


def sign_flip(differences: Array, *, resamples: int = 100000, seed: int = 0) -> float:
    """Two-sided p-value that the mean of paired differences is 0: exact over all signs up to 20
    differences, by `resamples` random signs beyond. ValueError without differences, and on ones that are not
    finite."""
    return _core.sign_flip(flat(differences, "differences", np.float64), resamples, seed_of(seed))


def _first_outside(task: Array, known: set[int]) -> str:
    """The first task that is not among the identifiers `known`, by the name that its caller gave it."""
    names, numbers = to_numpy(task, "task").reshape(-1).tolist(), _ids(task, "task").tolist()
    return next((repr(name) for name, number in zip(names, numbers) if number not in known), "")


def _pairs(families: dict | None, task: Array) -> list[tuple[int, int]]:
    if not families:
        return []
    keys = _ids(list(families.keys()), "families")
    known = set(keys.tolist())
    if name := _first_outside(task, known):
        raise ValueError(f"task {name} has no family; families needs every task as a key")
    return list(zip(keys.tolist(), _ids(list(families.values()), "families").tolist()))


def hierarchical_mean(
    task: Array,
    value: Array,
    *,
    families: dict | None = None,
    resamples: int = 10000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval:
    """Mean over tasks of the mean over samples, with a percentile bootstrap through family -> task ->
    sample. task, value: (samples,); families maps task to family (None: tasks are resampled). ValueError
    without samples, on values that are not finite, and on a task without a family."""
    return Interval(
        *_core.hierarchical_mean(
            _ids(task, "task"), flat(value, "value", np.float64), _pairs(families, task), resamples,
            seed_of(seed), confidence,
        )
    )  # fmt: skip


def hierarchical_difference(
    task_a: Array,
    value_a: Array,
    task_b: Array,
    value_b: Array,
    *,
    families: dict | None = None,
    resamples: int = 10000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval:
    """The same for a - b: families and tasks are resampled for both together, samples apart. Both arms
    must have the same tasks."""
    a, b = (set(_ids(task, "task").tolist()) for task in (task_a, task_b))
    if name := _first_outside(task_a, b) or _first_outside(task_b, a):
        raise ValueError(f"task {name} has samples in one arm only; leave it out or sample it in both")
    return Interval(
        *_core.hierarchical_difference(
            _ids(task_a, "task_a"), flat(value_a, "value_a", np.float64), _ids(task_b, "task_b"),
            flat(value_b, "value_b", np.float64), _pairs(families, task_a), resamples, seed_of(seed), confidence,
        )
    )  # fmt: skip


def holm(p_values: Array) -> np.ndarray:
    """Holm's step-down adjusted p-values, in the order given: the running maximum of min(1, (m - i) p_(i)),
    i from 0. ValueError on ones outside [0, 1]."""
    return _core.holm(flat(p_values, "p_values", np.float64))
