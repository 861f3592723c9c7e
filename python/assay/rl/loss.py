"""Policy losses with analytic gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import Array, flat, floats, is_tensor, like, offsets_of, to_numpy


class Loss(NamedTuple):
    """`value` is a float for arrays; for a tensor that requires gradients it is a scalar tensor that
    backpropagates into logp, and into entropy where that requires them."""

    value: Any
    gradient: Array | None  #: d value / d logp, shaped like logp
    metrics: dict[str, float]
    entropy_gradient: Array | None = None  #: d value / d entropy, with an entropy_coefficient


def policy_loss(
    logp: Array,
    advantage: Array,
    mask: Array,
    *,
    logp_old: Array | None = None,
    offsets: Array | None = None,
    weights: Array | None = None,
    entropy: Array | None = None,
    logp_reference: Array | None = None,
    kind: str = "ppo",
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    dual_clip: float | None = 3.0,
    aggregation: str = "seq-mean-token-sum",
    scale: float = 1.0,
    norm_length: float = 0.0,
    entropy_quantile: float = 0.0,
    risk_probability: float = 0.0,
    kl_coefficient: float = 0.0,
    kl_kind: str = "low_var_kl",
    entropy_coefficient: float = 0.0,
    gradient: bool = True,
) -> Loss:
    """Loss and gradient with respect to logp.

    logp, mask and the optional logp_old, weights, entropy, logp_reference are token arrays (mask: odd
    states count); advantage is (rows,), else a token array. With q = exp(logp - logp_old):

    ppo        max(-A q, -A clip(q, 1 - clip_low, 1 + clip_high)), at most -A dual_clip where A < 0
    gspo       the same without dual clip on q = exp(mean of the row's log-ratios), mean over rows
    reinforce  -A logp

    then tokens with entropy <= its entropy_quantile are left out, tokens with old probability below
    risk_probability and A < 0 get loss 0, and everything is multiplied by `weights` (constants).
    Aggregations (a sequence is a row): token-mean, seq-mean-token-sum, seq-mean-token-mean,
    seq-mean-token-sum-norm (/ norm_length, 0: longest row), seq-sum-no-norm; all / scale.
    kl_coefficient adds that times the aggregate of KL(policy || reference): kl, abs, mse, low_var_kl;
    entropy_coefficient subtracts that times the aggregate of entropy.

    Sources: PPO 1707.06347, dual clip 1912.09729, GSPO 2507.18071, Dr. GRPO's norm 2503.20783. Raises
    ValueError on lengths and options out of range; a trained token that is not a number makes the loss one.
    """
    arrays = floats("logp", logp, logp_old, weights, entropy, logp_reference)
    current, old, w, h, reference = arrays
    row_offsets = offsets_of(logp, offsets)
    advantages = to_numpy(advantage, "advantage")
    rows = row_offsets.size - 1
    dense = advantages.ndim > 1 and tuple(advantages.shape) == tuple(logp.shape)
    per_token = advantages.size == current.size and (dense or advantages.size != rows)
    grad = np.empty(tuple(logp.shape), current.dtype) if gradient else None
    entropy_grad = np.empty_like(grad) if gradient and entropy_coefficient else None
    value, metrics = _core.policy_loss(
        row_offsets,
        flat(mask, "mask", np.uint8),
        current,
        old,
        None if per_token else flat(advantages, "advantage", np.float64),
        flat(advantages, "advantage", current.dtype) if per_token else None,
        w,
        h,
        reference,
        kind,
        clip_low,
        clip_high,
        dual_clip or 0.0,
        aggregation,
        scale,
        norm_length,
        entropy_quantile,
        risk_probability,
        kl_coefficient,
        kl_kind,
        entropy_coefficient,
        None if grad is None else grad.reshape(-1),
        None if entropy_grad is None else entropy_grad.reshape(-1),
    )
    known = [
        (x, None if g is None else like(g, x)) for x, g in ((logp, grad), (entropy, entropy_grad))
    ]
    wanted = [(x, g) for x, g in known if g is not None and is_tensor(x) and x.requires_grad]
    if wanted:
        from ._autograd import attach

        value = attach(value, wanted)
    return Loss(value, known[0][1], metrics, known[1][1])


def kl_per_row(
    logp: Array,
    logp_reference: Array,
    mask: Array,
    kind: str = "low_var_kl",
    *,
    offsets: Array | None = None,
) -> np.ndarray:
    """Sum over each row of the KL estimator, (rows,) float64: `reward - beta * kl_per_row(...)` is the KL
    penalty in the reward. With d = logp - logp_reference: kl d, abs |d|, mse d^2 / 2, low_var_kl
    e^-d + d - 1 limited to [-10, 10]. Void turns' tokens do not count; ValueError on lengths."""
    current, reference = floats("logp", logp, logp_reference)
    return _core.kl_per_row(
        offsets_of(logp, offsets), flat(mask, "mask", np.uint8), current, reference, kind
    )
