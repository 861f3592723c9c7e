"""prime-rl: a loss with mismatch rejection, and leave-one-out advantages per group.

    [trainer.loss]
    type = "custom"
    import_path = "assay.integrations.prime_rl.loss"
    kwargs = { lower = 0.999, upper = 1.001, veto = 1e-4 }

Nothing of prime-rl is imported until the loss runs there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import assay.rl as rl

TESTED = "custom-loss interface as documented in 2026; prime-rl is not on the package index"


def loss(
    inputs: Any,
    *,
    lower: float = 0.999,
    upper: float = 1.001,
    veto: float | None = 1e-4,
    kind: str = "ppo",
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    dual_clip: float | None = 3.0,
) -> Any:
    """Sum over one sequence of the clipped surrogate against the inference engine's probabilities, 0 if
    the sequence is rejected (geometric level, token veto). Takes LossInputs, returns LossOutputs."""
    import torch

    try:
        from prime_rl.trainer.rl.loss import LossOutputs
    except ImportError as error:
        raise ImportError(
            "prime_rl.trainer.rl.loss is not importable: this function is a prime-rl custom loss and runs "
            "inside its trainer"
        ) from error
    current = inputs.trainer_logprobs
    device, one = current.device, np.zeros(1, np.int64)
    rollout = inputs.inference_logprobs.detach().float().cpu()
    offsets = np.array([0, current.numel()])
    corrected = rl.correct_mismatch(
        rl.Batch(group=one, trajectory=one, turn=one),
        current.detach().float().cpu(), rollout, inputs.loss_mask.cpu(), offsets=offsets,
        rejection="geometric", lower=lower, upper=upper, veto=veto,
    )  # fmt: skip
    result = rl.policy_loss(
        current.float().cpu(), inputs.advantages.float().cpu(), corrected.state, logp_old=rollout,
        offsets=offsets, kind=kind, clip_low=clip_low, clip_high=clip_high, dual_clip=dual_clip,
        aggregation="seq-sum-no-norm",
    )  # fmt: skip
    metrics = {**corrected.metrics, **result.metrics}
    value = result.value if torch.is_tensor(result.value) else torch.tensor(result.value)
    return LossOutputs(
        loss=value.to(device),
        metrics={k: torch.tensor(v, device=device) for k, v in metrics.items()},
    )


def advantages(rewards: list[float], name: str = "rloo") -> list[float]:
    """Advantages of one group's rollouts from their rewards (rloo, dr_grpo, grpo_std)."""
    n = np.arange(len(rewards))
    return rl.advantages(
        name, group=np.zeros_like(n), trajectory=n, turn=np.ones_like(n), reward=rewards
    ).advantage.tolist()
