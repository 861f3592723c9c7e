"""Returns and advantages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import _core
from ._arrays import Array, flags, flat, floats, like, offsets_of, result_type, shape_of
from .batch import Batch


class Advantages(NamedTuple):
    """Per row, float64 (rows,) except where said."""

    advantage: np.ndarray  #: to be multiplied by the row's token mask
    value: np.ndarray  #: the number that was compared with others
    population: np.ndarray  #: uint32, members it was compared with, itself included; 0: no member


def returns(
    batch: Batch,
    kind: str = "reward_to_go",
    *,
    gamma: float = 1.0,
    shaping: bool = False,
    unbiased_shaping: bool = True,
) -> np.ndarray:
    """What each turn is credited with, (rows,) float64 in the reward's unit.

    With r_t the reward of turn t of T (0 if void) and k running over later turns:

    reward_to_go, kevin   sum_{k>=t} gamma^(k-t) r_k            (Dr. Kernel 2602.05885, Kevin 2507.11948)
    max_to_go             max_{k>=t} gamma^(k-t) r_k            (Kevin's "max")
    best_delta            reward_to_go of max(0, best_t - best_{t-1}), best_0 = 0
    first                 gamma^(f-t) r_f up to the first turn f with r_f > 0, 0 after it
    last                  gamma^(T-t) r_T
    max                   max over all turns, the same for each
    none                  r_t

    shaping first replaces r_t by r_t - r_{t-1} (r_1 stays); unbiased_shaping multiplies r_T by
    1 - gamma before that. gamma in [0, 1], else ValueError.
    """
    return _core.returns(batch.core, kind, gamma, shaping, unbiased_shaping)


def void_turns(
    batch: Batch, *, failed: Array | None = None, mask_void_turn: bool = True
) -> np.ndarray:
    """keep flags, (rows,) uint8: 0 for turns with reward <= 0 after an earlier turn of the trajectory
    had reward > 0, for padding, and for every turn of a trajectory with a `failed` row ((rows,) bool:
    the episode broke off through no fault of the policy). The void-turn rule of 2602.05885; ValueError on
    rewards that are NaN and on lengths."""
    return _core.void_turns(batch.core, flags(failed, "failed"), mask_void_turn)


def advantages(
    name: str,
    *,
    batch: Batch | None = None,
    group: Array | None = None,
    trajectory: Array | None = None,
    turn: Array | None = None,
    reward: Array | None = None,
    keep: Array | None = None,
    gamma: float = 1.0,
    kind: str = "reward_to_go",
    shaping: bool = False,
    unbiased_shaping: bool = True,
    population: str = "all",
    trained: Array | None = None,
    single: str | None = None,
    normalisation: str | None = None,
    weight: Array | None = None,
    baseline: Array | None = None,
) -> Advantages:
    """Advantages of all rows by a named estimator.

    Give either `batch` or its arrays (see Batch). G is the return of `kind` (see returns).

    name                    compares    with                 advantage
    trloo                   G           same prompt, turn    G - mean of the others
    grpo                    G           same prompt, turn    G - mean
    turn_independent_grpo   reward      prompt               r - mean
    erloo                   G           prompt, all turns    G - mean of the others
    erloo_norm              G           prompt, all turns    the same / (std of the others + 1e-8)
    reinforce               G           batch                (G - mean) / (std + 1e-6)
    turn_optimal_baseline   G           same prompt, turn    G - sum(G W) / (sum(W) + 1e-8)
    optimal_baseline        sum of r    prompt               the same with trajectories' totals
    grpo_std                last r      prompt               (r - mean) / (std + 1e-6)     (GRPO)
    rloo                    last r      prompt               r - mean of the others, alone: 0
    dr_grpo                 last r      prompt               r - mean
    remax                   last r      prompt               r - baseline
    last_optimal_baseline   last r      prompt               r - sum(r W) / (sum(W) + 1e-8)

    The last six give one scalar to all turns of a trajectory. Standard deviations are unbiased.

    population  "all": rows with keep; "kept": of these, only rows with `trained` != 0 ((rows,), say
                the number of tokens left after rejection) enter baselines
    single      a population of one: "raw" its own value, "zero", "turn_mean" value minus the mean of
                that turn's other members in the batch, "group_mean" minus that of the prompt's other
                members; None: the estimator's own rule
    normalisation  divides by "none", "std" of the population, or "leave_one_out_std" of the others;
                None: the estimator's own
    weight      (rows,) W of the optimal baselines: sum of score_norms over the row; not read in void turns
    baseline    (rows,) of remax: the greedy rollout's reward

    Equal values have advantage 0 exactly. Raises ValueError on unknown names and missing inputs, on
    shaping with trloo, if `reinforce` finds no kept row, and, naming the row, on a weight or baseline that
    is not finite and an advantage that comes out so.

    Sources: trloo and the other turn-level forms 2602.05885, grpo_std 2402.03300, rloo 2402.14740, dr_grpo
    2503.20783, remax 2310.10505; the optimal baselines minimise the variance of the policy gradient.
    """
    if batch is None:
        missing = [
            n
            for n, v in (("group", group), ("trajectory", trajectory), ("turn", turn), ("reward", reward))
            if v is None
        ]
        if missing:
            raise ValueError(f"give batch, or all of its arrays (missing: {', '.join(missing)})")
        batch = Batch(group=group, trajectory=trajectory, turn=turn, reward=reward, keep=keep)
    if population not in ("all", "kept"):
        raise ValueError(f"population is {population!r}; use 'all' or 'kept'")
    if (population == "kept") != (trained is not None):
        raise ValueError("population='kept' and trained go together")
    return Advantages(
        *_core.advantages(
            batch.core,
            name,
            kind,
            gamma,
            shaping,
            unbiased_shaping,
            single or "",
            normalisation or "",
            flags(trained, "trained"),
            flat(weight, "weight", np.float64),
            flat(baseline, "baseline", np.float64),
        )
    )


def weigh_prompts_by_variance(batch: Batch, weight: Array, advantage: Array) -> np.ndarray:
    """Advantages (rows,) with prompts weighted by 1 / (sigma^2 + 1e-8), sigma^2 =
    (E[A^2 W] - E[A sqrt(W)]^2) / (N - 1) over the prompt's N kept rows, normalised over prompts and
    multiplied by the number of rows. Prompts with one kept row weigh 0; weight (rows,) is W as in
    advantages. ValueError on lengths and on figures of kept rows that are not finite."""
    out = np.array(flat(advantage, "advantage", np.float64))
    _core.weigh_prompts_by_variance(batch.core, flat(weight, "weight", np.float64), out)
    return out


def standardize(advantage: Array, member: Array) -> np.ndarray:
    """(A - mean) / std (unbiased) over rows with member != 0, 0 elsewhere; unchanged if std < 1e-6. Both
    (rows,); ValueError on lengths and on a member's advantage that is not finite."""
    out = np.array(flat(advantage, "advantage", np.float64))
    _core.standardize(flags(member, "member"), out)
    return out


class TokenAdvantages(NamedTuple):
    """Shaped and typed like the token arrays given."""

    advantage: Array
    returns: Array


def _empty(tokens: Array, dtype: np.dtype) -> np.ndarray:
    return np.empty(shape_of(tokens), dtype)


def gae(
    values: Array,
    mask: Array,
    reward: Array,
    *,
    offsets: Array | None = None,
    token_reward: Array | None = None,
    gamma: float = 1.0,
    lam: float = 1.0,
    whiten: bool = True,
) -> TokenAdvantages:
    """Generalised advantage estimation (1506.02438) over each row's tokens.

    values (tokens), mask (tokens; 0 padding, odd: trained), reward (rows,) on the row's last token,
    token_reward (tokens) in addition. delta_j = r_j + gamma V_{j+1} - V_j, A_j = delta_j + gamma lam
    A_{j+1}; gaps are skipped; whitening over trained tokens by (A - mean) / sqrt(var + 1e-8). With
    turn returns as reward it is the episodic form (egae). ValueError on lengths, unless gamma and lam
    are in [0, 1], and, naming the row, where a figure of a response token comes out as no finite number.
    """
    v, r = floats("values", values, token_reward)
    out, ret = _empty(values, v.dtype), _empty(values, v.dtype)
    _core.gae(
        offsets_of(values, offsets, mask=mask, token_reward=token_reward), flat(mask, "mask", np.uint8),
        flat(reward, "reward", np.float64),
        r, v, gamma, lam, whiten, out.reshape(-1), ret.reshape(-1),
    )  # fmt: skip
    return TokenAdvantages(like(out, values), like(ret, values))


def reinforce_plus_plus(
    mask: Array,
    reward: Array,
    *,
    offsets: Array | None = None,
    token_reward: Array | None = None,
    gamma: float = 1.0,
    dtype: np.dtype | type = np.float64,
) -> TokenAdvantages:
    """REINFORCE++ (2501.03262): R_j = r_j + gamma R_{j+1} over the row's tokens, whitened over the
    batch's trained tokens. Arguments and errors as in gae; `dtype` of the result if no token_reward says
    it."""
    r = None if token_reward is None else floats("token_reward", token_reward)[0]
    dtype = result_type(dtype) if r is None else r.dtype
    out, ret = _empty(mask, dtype), _empty(mask, dtype)
    _core.reinforce_plus_plus(
        offsets_of(mask, offsets, token_reward=token_reward), flat(mask, "mask", np.uint8),
        flat(reward, "reward", np.float64),
        r, gamma, out.reshape(-1), ret.reshape(-1),
    )  # fmt: skip
    return TokenAdvantages(like(out, mask), like(ret, mask))


def score_norms(
    mask: Array,
    logp_old: Array | None = None,
    sum_pi_squared: Array | None = None,
    *,
    offsets: Array | None = None,
    importance_weights: Array | None = None,
    uniform_weight: bool = False,
    uniform_cumulative: bool = False,
    dtype: np.dtype | type = np.float64,
) -> Array:
    """w = 1 - 2 pi + sum_v pi_v^2 per token: the squared norm of the score with respect to the logits,
    weight of the optimal baselines. uniform_weight: 1; uniform_cumulative: 1 / tokens of the row;
    importance_weights: times their square. 0 outside the mask and in void turns. All token arrays;
    ValueError on lengths and if both uniform options are set."""
    given = [a for a in (logp_old, sum_pi_squared, importance_weights) if a is not None]
    if given:
        old, squares, rho = floats("logp_old", logp_old, sum_pi_squared, importance_weights)
        dtype = next(a.dtype for a in (old, squares, rho) if a is not None)
    else:
        old = squares = rho = None
    out = _empty(mask, result_type(dtype))
    row_offsets = offsets_of(
        mask, offsets, logp_old=logp_old, sum_pi_squared=sum_pi_squared,
        importance_weights=importance_weights,
    )  # fmt: skip
    _core.score_norms(
        row_offsets, flat(mask, "mask", np.uint8), old, squares, rho, uniform_weight,
        uniform_cumulative, out.reshape(-1),
    )  # fmt: skip
    return like(out, mask)


def sum_per_row(values: Array, *, offsets: Array | None = None) -> np.ndarray:
    """Sum of a token array over each row, (rows,) float64."""
    return _core.sum_per_row(offsets_of(values, offsets), floats("values", values)[0])


def token_optimal_baseline(
    batch: Batch, value: Array, mask: Array, weight: Array, *, offsets: Array | None = None
) -> Array:
    """Advantage per token, G - sum(G W_j) / (sum(W_j) + 1e-8) over the kept rows of the same (prompt,
    turn) that have a token at position j; W_j is the running sum of `weight` (tokens, see score_norms)
    over the trajectory. value (rows,) is G. A (prompt, turn) with one kept row has baseline 0. ValueError
    on lengths and on advantages that come out as no finite number."""
    w = floats("weight", weight)[0]
    out = _empty(weight, w.dtype)
    _core.token_optimal_baseline(
        batch.core, flat(value, "value", np.float64), offsets_of(weight, offsets, len(batch), mask=mask),
        flat(mask, "mask", np.uint8), w, out.reshape(-1),
    )  # fmt: skip
    return like(out, weight)
