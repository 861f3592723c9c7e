"""prime-rl: a loss with mismatch rejection, and turn-level advantages in its orchestrator.

    [trainer.loss]
    type = "custom"
    import_path = "assay.integrations.prime_rl.loss"
    kwargs = { lower = 0.999, upper = 1.001, veto = 1e-4 }

Environments come from assay.integrations.verifiers. In the orchestrator's process call install(): its grpo
then credits each turn of KernelEnv's conversations by itself. Nothing of prime-rl is imported before that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import assay.rl as rl

TESTED = "the sources of 2026-08-21 (559b447); prime-rl is not on the package index"


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


def turn_advantages(traces: list[Any], name: str = "trloo", *, gamma: float = 1.0) -> None:
    """Writes every turn's advantage onto its sampled tokens (node.advantages), for the traces of one
    prompt that KernelEnv made. Void turns and conversations that broke off get 0, which trains nothing.
    Traces without trace.info["assay"] are one turn with the trace's reward."""
    rows: dict[str, list] = {"trajectory": [], "turn": [], "reward": [], "keep": []}
    places = []
    for number, trace in enumerate(traces):
        nodes = [node for node in trace.nodes if any(node.mask)]
        known = trace.info.get("assay")
        if known is None:
            turns = [(nodes, trace.reward, True)]
        else:
            if len(known["rewards"]) < len(nodes):  # the last answer was never judged
                nodes, left = nodes[: len(known["rewards"])], nodes[len(known["rewards"]) :]
                for node in left:
                    node.advantages = [0.0] * sum(node.mask)
            turns = [([n], r, k) for n, r, k in zip(nodes, known["rewards"], known["keep"])]
        for turn, (where, reward, keep) in enumerate(turns, 1):
            for key, value in zip(rows, (number, turn, reward, keep)):
                rows[key].append(value)
            places.append(where)
    group = np.zeros(len(places), np.int64)
    result = rl.advantages(name, group=group, gamma=gamma, **{k: np.array(v) for k, v in rows.items()})
    for where, advantage, keep in zip(places, result.advantage.tolist(), rows["keep"]):
        for node in where:
            node.advantages = [advantage if keep else 0.0] * sum(node.mask)


def install(algorithm: str = "grpo", *, name: str = "trloo", gamma: float = 1.0) -> type:
    """Puts turn_advantages behind the orchestrator's `algorithm`; returns the class. May be called again."""
    try:
        from prime_rl.orchestrator import algo
    except ImportError as error:
        raise ImportError(
            "prime_rl.orchestrator.algo is not importable: install() runs in prime-rl's orchestrator"
        ) from error
    parent = algo.ALGORITHM_CLASSES[algorithm]
    parent = getattr(parent, "assay_parent", parent)

    class TurnAlgorithm(parent):  # type: ignore[misc, valid-type]
        assay_parent = parent

        async def score_group(self, episodes: list) -> None:
            traces = [trace for _, trace in algo.base.iter_trainable_traces(episodes)]
            turn_advantages(traces, name, gamma=gamma)

    algo.ALGORITHM_CLASSES[algorithm] = TurnAlgorithm
    return TurnAlgorithm
