"""verl: estimators under its registry, and rollout correction in its own terms.

    import assay.integrations.verl as assay_verl
    assay_verl.register()                       # in every process that computes advantages
    # algorithm.adv_estimator=assay_packed_trloo with the agent loop of assay.integrations.verl_rollout
    # (one row per conversation), or assay_trloo with uids made by assay_verl.encode (one row per turn)

    algorithm.rollout_correction = assay_verl.rollout_correction(level="geometric", lower=0.999,
                                                                 upper=1.001)
    # needs actor_rollout_ref.rollout.calculate_log_probs=True
"""

from __future__ import annotations

from typing import Any

import numpy as np

import assay.rl as rl

from ._engine import require
from .turn_rows import NAMES, decode, encode, estimator, packed_estimator, place

TESTED = "0.9.1"

_core_algos = require("verl", "verl.trainer.ppo.core_algos", TESTED)

__all__ = [
    "TESTED", "correct_mismatch", "decode", "encode", "place", "register", "rollout_correction",
]  # fmt: skip


def register(prefix: str = "assay_") -> list[str]:
    """Registers every estimator as `<prefix><name>` (one row per turn) and `<prefix>packed_<name>` (one
    row per conversation); returns the names. May be called again."""
    functions = {prefix + name: estimator(name) for name in NAMES}
    functions |= {f"{prefix}packed_{name}": packed_estimator(name) for name in NAMES}
    for name, function in functions.items():
        if name not in _core_algos.ADV_ESTIMATOR_REGISTRY:
            _core_algos.register_adv_est(name)(function)
    return list(functions)


#: Our level in verl's words; it has one level for a row, so these are levels of one-row trajectories.
_LEVELS = {"token": "token_k1", "sequence": "seq_sum_k1", "geometric": "seq_mean_k1"}


def rollout_correction(
    *,
    level: str | None = "geometric",
    lower: float = 0.999,
    upper: float = 1.001,
    importance: str | None = None,
    importance_upper: float = 2.0,
    veto: float | None = None,
) -> dict[str, Any]:
    """algorithm.rollout_correction for verl's own implementation. It sees rows, not trajectories: with
    one row per turn, "sequence" and "geometric" then judge a turn; on packed conversations they judge
    the trajectory. It has no token veto: use correct_mismatch below (ValueError here). `lower` must be
    positive."""
    if veto is not None:
        raise ValueError("verl has no token veto any more; call correct_mismatch on the batch instead")
    if level is not None and level not in _LEVELS:
        raise ValueError(f"verl has no level {level!r}; use one of {', '.join(_LEVELS)}")
    if importance not in (None, "token", "sequence"):
        raise ValueError(f"verl has no importance level {importance!r}; use token or sequence")
    config: dict[str, Any] = {"rollout_is": importance, "rollout_rs": level and _LEVELS[level]}
    if importance is not None:
        config["rollout_is_threshold"] = importance_upper
    if level is not None:
        # verl's k1 is -log rho, so it bounds 1 / rho.
        config["rollout_rs_threshold"] = f"{1 / upper!r}_{1 / lower!r}"
    return config


def correct_mismatch(data: Any, **options: Any) -> dict[str, float]:
    """rl.correct_mismatch on a DataProto with old_log_probs, rollout_log_probs, response_mask and
    encoded uids: trajectory levels across rows, veto, suffix scopes, band. Edits response_mask, adds
    rollout_is_weights if `importance` is set, and returns the metrics under mismatch/."""
    rows = decode(data.non_tensor_batch["uid"])
    batch = rl.Batch(**rows)
    mask = data.batch["response_mask"]
    device = mask.device
    state = rl.reject_rows(mask.cpu(), np.where(rows["keep"], 0, rl.VOID).astype(np.uint8))
    result = rl.correct_mismatch(
        batch,
        data.batch["old_log_probs"].float().cpu(),
        data.batch["rollout_log_probs"].float().cpu(),
        state,
        **options,
    )
    data.batch["response_mask"] = (result.state & rl.TRAINED).to(device=device, dtype=mask.dtype)
    if result.weights is not None:
        data.batch["rollout_is_weights"] = result.weights.to(device)
    return {f"mismatch/{name}": value for name, value in result.metrics.items()}
