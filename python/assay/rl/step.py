"""One training step's decisions in one call: who trains, on what, with which advantage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ._arrays import Array
from .advantage import advantages, void_turns
from .batch import Batch
from .rejection import (
    GROUP,
    TRAINED,
    VOID,
    correct_mismatch,
    count_tokens,
    filter_groups,
    reject_rows,
    rejection_quality,
    sample_by_coverage,
    signal_metrics,
)
from .report import turn_signal


@dataclass(frozen=True)
class Recipe:
    """Settings of a step; the defaults are those that Dr. Kernel was trained with (2602.05885). The
    dictionaries are keyword arguments of the functions they are named after; None: that rule is off."""

    estimator: str = "trloo"
    gamma: float = 1.0
    advantages: Mapping[str, Any] = field(default_factory=dict)
    population: str = "all"  #: or "kept": rejected rows set no baselines
    mask_void_turn: bool = True
    correct_mismatch: Mapping[str, Any] | None = field(
        default_factory=lambda: {"rejection": "geometric", "lower": 0.999, "upper": 1.001, "veto": 1e-4}
    )
    sample_by_coverage: Mapping[str, Any] | None = field(
        default_factory=lambda: {"threshold": 0.3, "width": 0.1}
    )
    filter_groups: Mapping[str, Any] | None = field(
        default_factory=lambda: {"signal": "last_turn", "strategy": "efficiency_stochastic"}
    )
    #: Of policy_loss; not used here.
    policy_loss: Mapping[str, Any] = field(
        default_factory=lambda: {
            "clip_low": 0.2, "clip_high": 0.28, "dual_clip": 3.0,
            "aggregation": "seq-mean-token-sum", "scale": 1000.0,
        }
    )  # fmt: skip
    seed: int = 0


class Step(NamedTuple):
    advantage: np.ndarray  #: (rows,) float64, to be multiplied by state & TRAINED
    state: Array  #: uint8 token states with every reason, shaped like the mask
    weights: Array | None  #: importance weights of tokens
    trained: np.ndarray  #: (rows,) tokens left to train; rows with 0 can be left out of the update
    keep: np.ndarray  #: (rows,) uint8: not void, not padding, not filtered out
    groups: int  #: that are left after the filter; too few: collect more before updating
    metrics: dict[str, float]


def training_step(
    *,
    group: Array,
    trajectory: Array,
    turn: Array,
    reward: Array,
    mask: Array,
    logp_train: Array | None = None,
    logp_rollout: Array | None = None,
    correct: Array | None = None,
    coverage: Array | None = None,
    speedup: Array | None = None,
    failed: Array | None = None,
    offsets: Array | None = None,
    recipe: Recipe | None = None,
    step: int = 0,
) -> Step:
    """Void turns, mismatch rejection, coverage sampling, the group filter and the advantages, in the
    order of Dr. Kernel's trainer, with every figure that its log should have.

    Rows as in Batch, tokens as in correct_mismatch, correct, coverage and speedup as in
    sample_by_coverage, failed as in void_turns. Without logp_rollout there is no mismatch correction,
    without coverage no coverage sampling. `step` and the recipe's seed fix all draws; a batch that is
    judged again draws the same. ValueError as in the functions used.
    """
    recipe = recipe or Recipe()
    rows = {"group": group, "trajectory": trajectory, "turn": turn, "reward": reward}
    keep = void_turns(Batch(**rows), failed=failed, mask_void_turn=recipe.mask_void_turn)
    batch = Batch(**rows, keep=keep)
    state = reject_rows(mask, np.where(keep, 0, VOID).astype(np.uint8), offsets=offsets)
    metrics: dict[str, float] = {}
    weights = None
    if recipe.correct_mismatch is not None and logp_rollout is not None:
        if logp_train is None:
            raise ValueError("mismatch correction needs logp_train beside logp_rollout")
        corrected = correct_mismatch(
            batch, logp_train, logp_rollout, state, offsets=offsets, **recipe.correct_mismatch
        )
        state, weights = corrected.state, corrected.weights
        metrics |= {f"mismatch/{k}": v for k, v in corrected.metrics.items()}
    if recipe.sample_by_coverage is not None and coverage is not None:
        if correct is None:
            raise ValueError("coverage sampling needs correct beside coverage")
        sampled = sample_by_coverage(
            batch, state, correct=correct, coverage=coverage, speedup=speedup, offsets=offsets,
            seed=recipe.seed, step=step, **recipe.sample_by_coverage,
        )  # fmt: skip
        state = sampled.state
        metrics |= {f"coverage/{k}": v for k, v in sampled.metrics.items()}
    groups = batch.core.groups
    if recipe.filter_groups is not None:
        _, length = count_tokens(mask, offsets=offsets)
        filtered = filter_groups(
            batch, length=length, seed=recipe.seed, step=step, **recipe.filter_groups
        )
        groups = filtered.groups
        state = reject_rows(
            state, np.where(filtered.keep, 0, GROUP).astype(np.uint8), offsets=offsets
        )
        keep = (keep & filtered.keep).astype(np.uint8)
        batch = Batch(**rows, keep=keep)
        metrics |= {f"filter/{k}": v for k, v in filtered.metrics.items()}
    trained, _ = count_tokens(state, offsets=offsets)
    population = {"population": "kept", "trained": trained} if recipe.population == "kept" else {}
    result = advantages(
        recipe.estimator, batch=batch, gamma=recipe.gamma, **population, **recipe.advantages
    )
    metrics |= signal_metrics(state, result.advantage, result.population, offsets=offsets)
    metrics |= turn_signal(batch, result)
    if correct is not None and speedup is not None:
        quality = rejection_quality(state, correct, speedup, offsets=offsets)
        metrics |= {f"mismatch_quality/{k}": v for k, v in quality.items()}
    # A row whose advantage nobody may use says so.
    advantage = np.where(keep != 0, result.advantage, 0.0)
    return Step(advantage, state, weights, trained, keep, groups, metrics)


__all__ = ["TRAINED", "Recipe", "Step", "training_step"]
