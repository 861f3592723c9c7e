"""SkyRL: estimators under its registry, for step-wise trajectories (one row per turn).

    import assay.integrations.skyrl as assay_skyrl
    assay_skyrl.register()          # then trainer.algorithm.advantage_estimator=assay_trloo

The trainer passes one uid per row; make it with assay_skyrl.encode(prompt, trajectory, turn) where the
generator's output is assembled. Mismatch rejection exists natively: rejection() gives its settings.
"""

from __future__ import annotations

from typing import Any

from ._engine import require
from .turn_rows import NAMES, decode, encode, estimator

TESTED = "0.3.0"

_ppo_utils = require("skyrl", "skyrl.backends.skyrl_train.utils.ppo_utils", TESTED)

__all__ = ["TESTED", "decode", "encode", "register", "rejection"]


def register(prefix: str = "assay_") -> list[str]:
    """Registers every estimator as `<prefix><name>`; returns the names. May be called again."""
    registry = _ppo_utils.AdvantageEstimatorRegistry
    present = set(registry.list_available())
    for name in NAMES:
        if prefix + name not in present:
            registry.register(prefix + name, estimator(name))
    return [prefix + name for name in NAMES]


def rejection(
    *, lower: float = 0.999, upper: float = 1.001, veto: float | None = 1e-4
) -> dict[str, Any]:
    """trainer.algorithm.off_policy_correction for geometric rejection with a token veto. SkyRL applies
    it to rows: with step-wise trajectories it judges turns. Its outlier check is two-sided; the upper
    end is put out of reach."""
    settings: dict[str, Any] = {
        "sequence_mask_metric": "geometric",
        "geo_mask_low": lower,
        "geo_mask_high": upper,
    }
    if veto is not None:
        settings["outlier_token_is_threshold_low"] = veto
        settings["outlier_token_is_threshold_high"] = 1e30
    return settings
