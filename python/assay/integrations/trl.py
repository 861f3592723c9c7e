"""TRL: GRPOTrainer with one advantage per turn.

    from assay.integrations.trl import TurnGRPOTrainer, TurnOptions
    trainer = TurnGRPOTrainer(..., rollout_func=rollout, turn_options=TurnOptions(gamma=1.0))

`rollout` plays whole conversations and returns, besides TRL's prompt_ids, completion_ids, logprobs and
env_mask, one entry per conversation of

    turn_spans     [(start, end), …] of each turn's own tokens in completion_ids
    turn_rewards   [reward, …] of each turn
    turn_correct, turn_coverage   (for coverage sampling)

Reward functions still run (TRL needs one to log); their result is replaced by the turns' advantages,
token by token, which TRL's loss takes as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import assay.rl as rl

from ._engine import require

TESTED = "1.16.0"

require("trl", "trl", TESTED)

import torch  # noqa: E402
from accelerate.utils import gather_object  # noqa: E402
from trl import GRPOTrainer  # noqa: E402


@dataclass
class TurnOptions:
    """estimator and gamma as in rl.advantages; mask_void_turn as in rl.void_turns; mismatch and coverage
    are keyword arguments of rl.correct_mismatch and rl.sample_by_coverage (None: off)."""

    estimator: str = "trloo"
    gamma: float = 1.0
    mask_void_turn: bool = True
    mismatch: dict[str, Any] | None = None
    coverage: dict[str, Any] | None = None
    seed: int = 0
    advantage_options: dict[str, Any] = field(default_factory=dict)


class TurnGRPOTrainer(GRPOTrainer):
    def __init__(self, *args: Any, turn_options: TurnOptions | None = None, **kwargs: Any) -> None:
        self.turn_options = turn_options or TurnOptions()
        super().__init__(*args, **kwargs)
        if self.rollout_func is None:
            raise ValueError("TurnGRPOTrainer needs a rollout_func that returns turn_spans and turn_rewards")

    def _generate_and_score_completions(self, inputs: list[dict]) -> dict[str, Any]:
        output = super()._generate_and_score_completions(inputs)
        for key in ("turn_spans", "turn_rewards"):
            if any(key not in x for x in inputs):
                raise ValueError(f"rollout_func must return {key}, one list per conversation")
        training = self.model.training
        per_group = self.num_generations if training else self.num_generations_eval

        # Groups may be spread over processes: everybody sees all turns and takes its own rows back.
        mine = [(list(x["turn_spans"]), list(x["turn_rewards"])) for x in inputs]
        everyone = gather_object(mine)
        first = self.accelerator.process_index * len(mine)
        trajectory = [i for i, (spans, _) in enumerate(everyone) for _ in spans]
        turn = [t for spans, _ in everyone for t in range(1, len(spans) + 1)]
        reward = [r for _, rewards in everyone for r in rewards]
        if len(reward) != len(turn):
            raise ValueError("turn_rewards and turn_spans differ in length")
        rows = {
            "group": np.array(trajectory, np.int64) // per_group,
            "trajectory": np.array(trajectory, np.int64),
            "turn": np.array(turn, np.int64),
            "reward": np.array(reward, np.float64),
        }
        keep = rl.void_turns(rl.Batch(**rows), mask_void_turn=self.turn_options.mask_void_turn)
        batch = rl.Batch(**rows, keep=keep)
        result = rl.advantages(
            self.turn_options.estimator, batch=batch, gamma=self.turn_options.gamma,
            **self.turn_options.advantage_options,
        )  # fmt: skip
        own = (batch.trajectory >= first) & (batch.trajectory < first + len(mine))
        spans = [s for turn_spans, _ in mine for s in turn_spans]
        self._apply(output, inputs, spans, batch, own, first, result.advantage[own], keep[own])
        self._log_signal(output, result)
        return output

    def _apply(self, output, inputs, spans, batch, own, first, advantage, keep) -> None:
        mask = output["completion_mask"]
        if output.get("tool_mask") is not None:
            mask = mask * output["tool_mask"]
        rows = batch.trajectory[own] - first
        offsets = np.concatenate([[0], np.cumsum([end - start for start, end in spans])])
        where = np.concatenate([np.arange(start, end) for start, end in spans] or [np.zeros(0, int)])
        row_of = torch.as_tensor(np.repeat(rows, np.diff(offsets)))
        column = torch.as_tensor(where)

        cpu_mask = mask.cpu().to(torch.uint8)
        state = rl.reject_rows(
            cpu_mask[row_of, column], np.where(keep, 0, rl.VOID).astype(np.uint8), offsets=offsets
        )
        local = rl.Batch(
            group=batch.group[own], trajectory=batch.trajectory[own], turn=batch.turn[own],
            keep=batch.keep[own],
        )  # fmt: skip
        state = self._reject(output, inputs, local, state, row_of, column, offsets)

        tokens = np.repeat(advantage, np.diff(offsets))
        dense = torch.zeros(mask.shape, dtype=torch.float32)
        dense[row_of, column] = torch.as_tensor(tokens, dtype=torch.float32)
        trained = torch.zeros(mask.shape, dtype=mask.dtype)
        trained[row_of, column] = (state & rl.TRAINED).to(mask.dtype)
        output["advantages"] = dense.to(mask.device)
        output["tool_mask"] = trained.to(mask.device)
        output["num_items_in_batch"] = self.accelerator.gather(output["tool_mask"].sum()).sum()

    def _reject(self, output, inputs, local, state, row_of, column, offsets):
        options = self.turn_options
        if options.mismatch is not None:
            missing = [
                k for k in ("old_per_token_logps", "sampling_per_token_logps") if output.get(k) is None
            ]
            if missing:
                raise ValueError(
                    f"mismatch correction needs {' and '.join(missing)}: return logprobs from rollout_func and "
                    "let TRL recompute them (steps_per_generation * num_iterations above "
                    "gradient_accumulation_steps, or use_vllm)"
                )
            train, rollout = (
                output[k].float().cpu()[row_of, column].contiguous()
                for k in ("old_per_token_logps", "sampling_per_token_logps")
            )
            corrected = rl.correct_mismatch(
                local, train, rollout, state, offsets=offsets, **options.mismatch
            )
            state = corrected.state
            self._log_figures("mismatch/", corrected.metrics)
        if options.coverage is not None:
            sampled = rl.sample_by_coverage(
                local,
                state,
                correct=[c for x in inputs for c in x["turn_correct"]],
                coverage=[c for x in inputs for c in x["turn_coverage"]],
                offsets=offsets,
                seed=options.seed,
                step=self.state.global_step,
                **options.coverage,
            )
            state = sampled.state
            self._log_figures("coverage/", sampled.metrics)
        return state

    def _log_signal(self, output, result) -> None:
        members = result.population > 0
        trained = output["tool_mask"] > 0
        self._log_figures("assay/", {
            "single_fraction": float((result.population[members] == 1).mean()) if members.any() else 0.0,
            "advantage_sum": float(output["advantages"][trained].sum()),
            "trained_tokens": float(trained.sum()),
        })  # fmt: skip

    def _log_figures(self, prefix: str, figures: dict[str, float]) -> None:
        mode = "train" if self.model.training else "eval"
        for name, value in figures.items():
            self._metrics[mode][prefix + name].append(value)
