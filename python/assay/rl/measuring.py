"""Sequential test-time scaling, and measuring again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from . import _core
from ._arrays import Array, flat


def total_turns(turns: int, iterations: int, remain: int) -> int:
    """Turns of a scaled conversation: turns + (iterations - 1) (turns - remain). ValueError unless
    0 <= remain < turns and iterations >= 1."""
    return _core.total_turns(turns, iterations, remain)


def select_window(
    remain: int,
    method: str = "best",
    metric: str = "reward",
    *,
    reward: Array | None = None,
    speedup: Array | None = None,
    coverage: Array | None = None,
) -> range:
    """The turns, of all made so far in order ((turns,) arrays), that stay in the next iteration's
    context: "last" `remain` ones, or the "best" consecutive ones by the sum of reward, "performance"
    (speedup), "time_coverage", or "time_coverage_reward" (coverage, then reward); of equal windows the
    first. A contiguous window can lose the best turn, so the best so far must be kept apart. ValueError on
    lengths, NaN, and a metric whose array is missing."""
    given = [
        flat(x, what, np.float64)
        for x, what in ((reward, "reward"), (speedup, "speedup"), (coverage, "coverage"))
    ]
    turns = next((len(x) for x in given if x is not None), None)
    if turns is None:
        raise ValueError("give reward, speedup or coverage of the turns")
    return range(*_core.select_window(turns, remain, method, metric, *given))


class Remeasured(NamedTuple):
    valid: bool  #: false: no evaluation was
    correct: bool
    speedup: float | None
    used: int  #: valid evaluations
    spread: float  #: (largest - smallest) / median of the correct ones' speedups
    agreed: bool
    still_wanted: int  #: further evaluations to make; 0: final


def join_measurements(
    runs: Iterable[tuple[bool, bool, float | None]],
    *,
    suspicious: float = 3.0,
    policy: str = "median",
    wanted: int = 3,
    spread: float = 0.1,
) -> Remeasured:
    """Several evaluations of one submission, first one first, each (valid, correct, speedup); not valid:
    an infrastructure fault, which counts for nothing. A speedup above `suspicious` is measured again
    until there are `wanted`.

    replace   the last one, a failure included (2602.05885)
    minimum   correct if most are; the smallest speedup of the correct ones
    median    the same with the median, or the smallest where they spread wider than `spread`

    ValueError without runs, on wanted < 1, and on a speedup of a valid, correct run that is not positive.
    """
    return Remeasured(
        *_core.join_measurements([tuple(r) for r in runs], suspicious, policy, wanted, spread)
    )
