"""Which tokens train: mismatch correction, coverage sampling, group filters, and their accounting.

A token's state is one byte: 0 no response token, bit 0 (TRAINED) trained, the other bits why not. A
0/1 mask is a state, and `state & TRAINED` is the mask to train with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import _core
from ._arrays import (
    Array,
    bits_of,
    flags,
    flat,
    floats,
    integers,
    like,
    offsets_of,
    seed_of,
    shape_of,
    step_of,
    to_numpy,
    whole,
)
from .batch import Batch

TRAINED = 1  #: the token is trained
MISMATCH = 2  #: likelihood ratio outside [lower, upper] at the chosen level
VETO = 4  #: a token that the training engine finds nearly impossible
BAND = 8  #: token ratio outside the band
COVERAGE = 16  #: correct, but too little of the time is in the submission's own kernels
VOID = 32  #: the turn failed after an earlier turn had scored
GROUP = 64  #: its group or sample was filtered out
OTHER = 128  #: the caller's own rule


def _state(mask: Array, inplace: bool) -> tuple[np.ndarray, Array]:
    """(flat uint8 view to write to, the object to return)."""
    array = to_numpy(mask, "mask")
    if inplace:
        if array.dtype != np.uint8 or not array.flags.c_contiguous or not array.flags.writeable:
            raise ValueError("inplace needs a contiguous, writable uint8 mask")
        return array.reshape(-1), mask
    state = whole(array, "mask", np.uint8)
    return state.reshape(-1), like(state, mask)


class Mismatch(NamedTuple):
    state: Array  #: uint8, shaped like the mask
    weights: Array | None  #: importance weights, shaped and typed like logp_train
    metrics: dict[str, float]


def correct_mismatch(
    batch: Batch,
    logp_train: Array,
    logp_rollout: Array,
    mask: Array,
    *,
    offsets: Array | None = None,
    rejection: str | None = None,
    lower: float | None = None,
    upper: float = 1.001,
    scope: str | None = None,
    importance: str | None = None,
    importance_upper: float = 2.0,
    veto: float | None = None,
    veto_scope: str = "turn",
    band: tuple[float, float] | None = None,
    inplace: bool = False,
) -> Mismatch:
    """Corrects for the inference engine's probabilities not being the training engine's (mismatch
    rejection sampling, 2602.05885, and truncated importance sampling).

    logp_train, logp_rollout, mask: token arrays; log rho = logp_train - logp_rollout (natural log).
    Void turns (state VOID; see reject_rows) and padding take part in nothing.

    rejection   keep where lower <= exp(clamp(log weight, -20, 20)) <= upper, log weight at level
                "token" log rho · "turn" sum over the row · "turn_geo" mean over the row ·
                "sequence" sum, "geometric" mean over the trajectory's tokens. lower: 1 / upper if None.
    scope       what a rejection takes along: "token", "turn", "suffix", "trajectory"; None: what the
                level covers
    importance  level "token", "turn" or "sequence": weights min(exp(log weight), importance_upper)
    veto        reject (veto_scope) where a token has log rho < log(veto)
    band        mask single tokens with rho outside (low, high)
    inplace     edit `mask` (contiguous uint8) and allocate nothing of its size

    All rules look at the batch before any of them was applied. Metrics are named in rl/mismatch.h:
    rollout_rs_*, rollout_is_*, training_ppl, kl, k3_kl, chi2_token, … Raises ValueError on levels
    and bounds that contradict each other, on turn levels where every trajectory has one row, and, naming
    the row, on a response token whose log rho is NaN or +inf (-inf is what the veto is for); nothing is
    then changed.
    """
    train, rollout = floats("logp_train", logp_train, logp_rollout)
    flat_state, state = _state(mask, inplace)
    weights = None
    if importance is not None:
        weights = np.empty(shape_of(logp_train), train.dtype)
    metrics = _core.correct_mismatch(
        batch.core,
        offsets_of(logp_train, offsets, len(batch), logp_rollout=logp_rollout, mask=mask),
        train,
        rollout,
        flat_state,
        rejection,
        (1.0 / upper if upper else 0.0) if lower is None else lower,
        upper,
        scope,
        importance,
        importance_upper,
        0.0 if veto is None else veto,
        veto_scope,
        *((0.0, 0.0) if band is None else band),
        None if weights is None else weights.reshape(-1),
    )
    return Mismatch(state, None if weights is None else like(weights, logp_train), metrics)


def log_ratios(
    batch: Batch,
    logp_train: Array,
    logp_rollout: Array,
    mask: Array,
    level: str = "geometric",
    *,
    offsets: Array | None = None,
) -> np.ndarray:
    """log weight of each row at a level other than token, (rows,) float64, not clamped; 0 where the level
    covers no token. ValueError as in correct_mismatch."""
    train, rollout = floats("logp_train", logp_train, logp_rollout)
    return _core.log_ratios(
        batch.core, offsets_of(logp_train, offsets, len(batch), logp_rollout=logp_rollout, mask=mask),
        train, rollout,
        flat(mask, "mask", np.uint8), level,
    )  # fmt: skip


def rejection_for_rate(
    batch: Batch,
    logp_train: Array,
    logp_rollout: Array,
    mask: Array,
    rate: float,
    level: str = "geometric",
    *,
    offsets: Array | None = None,
) -> tuple[float, float]:
    """(lower, upper), symmetric in the log, that reject at most a share `rate` of the trajectories (of
    the rows, at turn levels): exp(-+q), q the 1 - rate quantile of |log weight|. ValueError unless rate is
    in [0, 1], and without a response token."""
    train, rollout = floats("logp_train", logp_train, logp_rollout)
    return _core.rejection_for_rate(
        batch.core, offsets_of(logp_train, offsets, len(batch), logp_rollout=logp_rollout, mask=mask),
        train, rollout,
        flat(mask, "mask", np.uint8), level, rate,
    )  # fmt: skip


def profile_mismatch(
    logp_train: Array, logp_rollout: Array, mask: Array, *, offsets: Array | None = None
) -> dict[str, np.ndarray]:
    """Where the engines disagree: {"by_position", "by_probability"}, each (16, 3) with tokens, sum of
    log rho and sum of |log rho| per bucket. Position bucket b holds response tokens 2^b - 1 to
    2^(b+1) - 2 of a row, probability bucket b those the rollout engine gave [b, b + 1) / 16. ValueError on
    lengths and on NaN."""
    train, rollout = floats("logp_train", logp_train, logp_rollout)
    position, probability = _core.profile_mismatch(
        offsets_of(logp_train, offsets, logp_rollout=logp_rollout, mask=mask), train, rollout,
        flat(mask, "mask", np.uint8),
    )  # fmt: skip
    return {"by_position": np.array(position, float), "by_probability": np.array(probability, float)}


def reject_rows(
    mask: Array, reasons: Array, *, offsets: Array | None = None, inplace: bool = False
) -> Array:
    """State with `reasons` ((rows,) uint8 bits, 0: none) added to the rows' response tokens. Void turns:
    reject_rows(mask, np.where(keep, 0, VOID))."""
    flat_state, state = _state(mask, inplace)
    bits = flat(reasons, "reasons", np.uint8)
    if (bits & TRAINED).any():
        raise ValueError("reasons hold 1, which is TRAINED and no reason; use VOID, GROUP, OTHER, …")
    _core.reject_rows(offsets_of(mask, offsets), bits, flat_state)
    return state


def count_tokens(state: Array, *, offsets: Array | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(trained, response) tokens of each row, int64. ValueError on lengths."""
    return _core.count_tokens(offsets_of(state, offsets), flat(state, "state", np.uint8))


class PrecisionFiltered(NamedTuple):
    state: Array  #: uint8, shaped like the mask
    gates: np.ndarray  #: (rows,) uint8: bit 0 gate 1, bit 1 gate 2, of the row's trajectory
    metrics: dict[str, float]


def filter_by_precision(
    batch: Batch,
    logp_train: Array,
    logp_rollout: Array,
    mask: Array,
    *,
    logp_top: Array | None = None,
    offsets: Array | None = None,
    mean_limit: float = 0.01,
    gap_floor: float = -15.0,
    inplace: bool = False,
) -> PrecisionFiltered:
    """Two gates against broken samples (state GROUP): drops trajectories whose |mean of logp_train -
    logp_rollout| exceeds mean_limit, or that have a token with logp_rollout - logp_top < gap_floor,
    logp_top being the inference engine's likeliest token's (None: that gate is off). Void turns and
    padding take no part. ValueError on a gap that is NaN or +inf."""
    train, rollout, top = floats("logp_train", logp_train, logp_rollout, logp_top)
    flat_state, state = _state(mask, inplace)
    gates, metrics = _core.filter_by_precision(
        batch.core,
        offsets_of(
            logp_train, offsets, len(batch), logp_rollout=logp_rollout, mask=mask, logp_top=logp_top
        ),
        train, rollout, top, mean_limit, gap_floor, flat_state,
    )  # fmt: skip
    return PrecisionFiltered(state, gates, metrics)


class Sampled(NamedTuple):
    state: Array  #: uint8, shaped like the mask
    keep_probability: np.ndarray  #: (rows,)
    rejected: np.ndarray  #: (rows,) uint8
    metrics: dict[str, float]


def sample_by_coverage(
    batch: Batch,
    mask: Array,
    *,
    correct: Array,
    coverage: Array,
    speedup: Array | None = None,
    offsets: Array | None = None,
    mode: str = "turn",
    correct_only: bool = False,
    threshold: float = 0.3,
    width: float | None = 0.1,
    speedup_threshold: float | None = None,
    scope: str = "turn",
    draw_per_trajectory: bool = False,
    seed: int = 0,
    step: int = 0,
    inplace: bool = False,
) -> Sampled:
    """Profiling-based rejection sampling (2602.05885): keeps a correct turn with probability
    clip((c - threshold) / width, 0, 1), incorrect turns always, and turns with speedup >=
    speedup_threshold always (None or negative: off).

    correct, coverage, speedup: (rows,). c is the coverage limited to [0, 1]; with mode "geometric" the
    geometric mean over the trajectory's turns that still have trained tokens (coverage at least 1e-8;
    correct_only: over correct ones). A draw depends on (seed, step, trajectory, turn) alone. width 0 or
    None: c >= threshold. Raises ValueError on NaN coverage and on turns above 2^32 - 2, which have no draw.
    """
    if mode not in ("turn", "geometric"):
        raise ValueError(f"mode is {mode!r}; use 'turn' or 'geometric'")
    flat_state, state = _state(mask, inplace)
    probability, rejected, metrics = _core.sample_by_coverage(
        batch.core,
        offsets_of(mask, offsets, len(batch)),
        flat_state,
        flags(correct, "correct"),
        flat(coverage, "coverage", np.float64),
        flat(speedup, "speedup", np.float64),
        mode == "geometric",
        correct_only,
        threshold,
        width or 0.0,
        speedup_threshold,
        scope,
        draw_per_trajectory,
        seed_of(seed),
        step_of(step),
    )
    return Sampled(state, probability, rejected, metrics)


class Filtered(NamedTuple):
    keep: np.ndarray  #: (rows,) uint8
    groups: int
    samples: int
    metrics: dict[str, float]


def filter_groups(
    batch: Batch,
    *,
    length: Array | None = None,
    smallest_std: float = 1e-3,
    signal: str = "last_turn",
    reward_threshold: float = -1e308,
    min_group_size: int = 0,
    max_length: int = 0,
    min_short: int = 0,
    max_groups: int = 0,
    samples_per_group: int = 0,
    strategy: str = "uniform",
    seed: int = 1,
    step: int = 0,
) -> Filtered:
    """Drops groups that teach nothing and chooses among an over-sampled batch.

    A group of more than one sample goes if the unbiased standard deviation of its last rewards
    (signal "any_turn": of the rewards of every turn) is below smallest_std; then samples below
    reward_threshold; then groups smaller than min_group_size (0: samples_per_group // 2 + 1); then,
    with max_length, groups with fewer than max(min_short, 1) samples shorter ((rows,) length, last
    turn). More than max_groups: at random, complete ones first. More than samples_per_group samples:
    by "uniform", "efficiency" (positives by reward per token, others the shortest) or
    "efficiency_stochastic", keeping the share of positives. Choices depend on (seed, step, ids) alone. Raises
    ValueError on options out of range and where a length is needed and missing.
    """
    keep, groups, samples, metrics = _core.filter_groups(
        batch.core, integers(length, "length"), smallest_std, signal, reward_threshold,
        min_group_size, max_length, min_short, max_groups, samples_per_group, strategy,
        seed_of(seed), step_of(step),
    )  # fmt: skip
    return Filtered(keep, groups, samples, metrics)


def signal_metrics(
    state: Array, advantage: Array, population: Array, *, offsets: Array | None = None
) -> dict[str, float]:
    """What rejection did to the learning signal: trained_fraction, rejected_fraction/<reason>,
    advantage_sum (over trained tokens: far from 0 is a bias) and advantage_sum_before, single_fraction,
    … advantage and population as advantages() returns them. ValueError on lengths."""
    return _core.signal_metrics(
        offsets_of(state, offsets), flat(state, "state", np.uint8),
        flat(advantage, "advantage", np.float64), flat(population, "population", np.uint32),
    )  # fmt: skip


def rejection_quality(
    state: Array,
    correct: Array,
    speedup: Array,
    *,
    offsets: Array | None = None,
    reasons: int = MISMATCH | VETO | BAND | COVERAGE,
    thresholds: Sequence[float] = (1.0, 1.2, 1.5, 2.0, 3.0),
) -> dict[str, float]:
    """Correctness and speed of rejected against kept rows: masked/…, non_masked/…, */mask_rate. Choose
    `reasons` to look at one rule alone. ValueError on lengths and on a correct row's speedup that is not
    finite."""
    return _core.rejection_quality(
        offsets_of(state, offsets), flat(state, "state", np.uint8),
        flags(correct, "correct"), flat(speedup, "speedup", np.float64), bits_of(reasons, "reasons"),
        list(thresholds),
    )  # fmt: skip
