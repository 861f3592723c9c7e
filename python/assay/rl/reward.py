"""Rewards of one evaluation: pure, versioned functions."""

from __future__ import annotations

import math
from typing import NamedTuple

from . import _core


class Reward(NamedTuple):
    value: float
    correctness: float  #: its part of the value, as the next two
    performance: float
    coverage: float


def coverage(
    *,
    own_kernels: float = 0,
    all_kernels: float = 0,
    own_time_us: float = 0,
    all_time_us: float = 0,
    type: str = "time_coverage",
) -> float:
    """Share of the time ("time_coverage") or of the launches ("number_coverage") that is in the
    submission's own kernels, limited to [0, 1]; 0 if there are none at all. ValueError on NaN."""
    figures = {
        "own_kernels": own_kernels, "all_kernels": all_kernels, "own_time_us": own_time_us,
        "all_time_us": all_time_us,
    }  # fmt: skip
    for name, value in figures.items():
        if math.isnan(value):
            raise ValueError(f"{name} is nan; give 0 where nothing was profiled")
    return _core.coverage(own_kernels, all_kernels, own_time_us, all_time_us, type)


def reward(
    name: str = "speedup/1",
    *,
    completed: bool,
    compiled: bool = True,
    correct: bool = False,
    decoy: bool = False,
    speedup: float | None = None,
    own_kernels: float = 0,
    all_kernels: float = 0,
    own_time_us: float = 0,
    all_time_us: float = 0,
    correct_weight: float = 0.5,
    performance_weight: float = 0.5,
    penalty: float = 0.0,
    speedup_epsilon: float = 0.01,
    speedup_upper: float = 3.0,
    speedup_lower: float = 0.0,
    use_coverage: bool = True,
    coverage_weight: float = 0.5,
    coverage_type: str = "time_coverage",
    round_coverage: bool = False,
    compilation_fail: float = -0.5,
    correctness_fail: float = -0.3,
    slower: float = -0.1,
) -> Reward:
    """Dr. Kernel's rewards (2602.05885); defaults are those of its published recipe.

    speedup/1    penalty without a result or for a decoy; else correct_weight [correct] +
                 performance_weight s + coverage_weight coverage [correct], where s = min(speedup,
                 speedup_upper), 0 if below speedup_lower
    weighted/1   the same with [speedup >= 1 + speedup_epsilon] for s
    staircase/1  -1 · compilation_fail · correctness_fail · 1, .8, .6, .4, .2 at speedups of 3, 2, 1.5,
                 1.2, 1, else `slower`
    graded/1     speedup/1 for correct ones; compilation_fail and correctness_fail for those that fail so;
                 penalty without a result or for a decoy

    speedup is reference time / candidate time; a version's formula never changes. Raises ValueError on
    figures that are not finite.
    """
    return Reward(
        *_core.reward(
            name, completed=completed, compiled=compiled, correct=correct, decoy=decoy,
            speedup=speedup, own_kernels=own_kernels, all_kernels=all_kernels,
            own_time_us=own_time_us, all_time_us=all_time_us, correct_weight=correct_weight,
            performance_weight=performance_weight, penalty=penalty,
            speedup_epsilon=speedup_epsilon, speedup_upper=speedup_upper,
            speedup_lower=speedup_lower, coverage=use_coverage, coverage_weight=coverage_weight,
            coverage_type=coverage_type, round_coverage=round_coverage,
            compilation_fail=compilation_fail, correctness_fail=correctness_fail, slower=slower,
        )
    )  # fmt: skip
