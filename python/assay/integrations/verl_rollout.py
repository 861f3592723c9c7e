"""verl: an agent loop that holds conversations about kernels, and a reward manager, both judged by Assay.

    # agent_loop.yaml, named by actor_rollout_ref.rollout.agent.agent_loop_config_path
    - name: assay
      _target_: assay.integrations.verl_rollout.AssayAgentLoop
      turns: 3
      evaluator: {where: "http://judge:8000"}

A conversation becomes one row: answers are trained, feedback is masked, every turn's reward lies on its
last token (see turn_rows.place), void turns are masked out. With algorithm.adv_estimator=
assay_packed_trloo verl's trainer then does turn-level leave-one-out. A conversation that broke off on an
infrastructure fault has an empty mask.

AssayRewardManager is for verl's own loops: it judges the last answer of a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import numpy as np

from ._engine import require
from .conversation import Conversation, Task
from .evaluator import settings_from_environment, shared_judge
from .turn_rows import place
from .verl import TESTED

_agent_loop = require("verl", "verl.experimental.agent_loop.agent_loop", TESTED)
_reward_manager = require("verl", "verl.experimental.reward_loop.reward_manager", TESTED)

import torch  # noqa: E402
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase  # noqa: E402
from verl.utils.profiler import simple_timer  # noqa: E402

__all__ = ["TESTED", "AssayAgentLoop", "AssayRewardManager", "TurnOutput"]


def _plain(settings: Any) -> dict[str, Any]:
    """A plain dictionary of what Hydra made of one."""
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        from omegaconf import OmegaConf

        settings = OmegaConf.to_container(settings, resolve=True)
    return dict(settings)


class TurnOutput(_agent_loop.AgentLoopOutput):
    """An output with a reward per turn: verl puts one score on the last token, this one puts each
    turn's."""

    def as_dict(self) -> dict[str, Any]:
        output = super().as_dict()
        fields = output["extra_fields"]
        rewards = place(fields["turn_spans"], fields["turn_rewards"], len(self.response_ids))
        output["rm_scores"] = torch.from_numpy(rewards)
        return output


class AssayAgentLoop(_agent_loop.AgentLoopBase):
    """`turns` turns per conversation, see conversation.Conversation for the other options; `evaluator`:
    {"where": "command" or an address, …}, default the JSON or address in $ASSAY_EVALUATOR. Dataset rows
    name their task as conversation.Task.from_row says; `raw_prompt` is the first question."""

    def __init__(
        self,
        *args: Any,
        turns: int = 3,
        evaluator: Mapping[str, Any] | None = None,
        conversation: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._turns = int(turns)
        self._evaluator = _plain(evaluator) or settings_from_environment()
        self._options = _plain(conversation)
        if self._options.get("recent") is not None:
            raise ValueError("a packed row holds the whole conversation: `recent` needs a row per turn")

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> TurnOutput:
        judge = shared_judge(self._evaluator)
        messages = [dict(m) for m in kwargs["raw_prompt"]]
        talk = Conversation(Task.from_row(kwargs, messages), turns=self._turns, **self._options)
        tokens = await self.ct_build_initial_tokens(talk.messages)
        mask, logps, spans, fields, timing = [], [], [], {}, {}
        width = self.rollout_config.response_length
        request = uuid4().hex
        while not talk.done:
            if len(mask) >= width:
                talk.exhaust()
                break
            with simple_timer("generate_sequences", timing):
                answer = await self.server_manager.generate(
                    request_id=request,
                    prompt_ids=tokens,
                    sampling_params={**sampling_params, "max_tokens": width - len(mask)},
                )
            began = {k: fields[k] for k in ("min_global_steps",) if k in fields}
            fields |= answer.extra_fields | began
            if not answer.token_ids:
                talk.exhaust()
                break
            start = len(mask)
            if not answer.log_probs:
                logps = None
            merged, mask, logps = await self.ct_merge_assistant_token(
                tokens, answer.token_ids, mask, logps, assistant_logprobs=answer.log_probs or None
            )
            tokens = merged.token_ids
            spans.append((start, len(mask)))
            text = self.tokenizer.decode(answer.token_ids, skip_special_tokens=True)
            with simple_timer("tool_calls", timing):
                verdict = await judge(talk.submission(text))
            talk.record(text, verdict)
            if not talk.done:
                merged, mask, logps = await self.ct_merge_context_msg(
                    talk.messages[:-1], talk.messages, tokens, mask, logps
                )
                tokens = merged.token_ids
                if cut := merged.removed_prefix_token_count:  # the template has no such end of a turn
                    spans[-1] = (start, spans[-1][1] - cut)
        return self._output(talk, tokens, mask, logps, spans, fields, timing)

    def _output(self, talk, tokens, mask, logps, spans, fields, timing) -> TurnOutput:
        width = self.rollout_config.response_length
        # What was cut off at the end belongs to no turn; a turn that is cut keeps its beginning.
        shown = [(start, min(end, width)) for start, end in spans if start < width]
        n = len(shown)
        trained = np.array(mask[:width])
        for (start, end), keep in zip(shown, talk.keep):
            if not keep:
                trained[start:end] = 0
        prompt = tokens[: len(tokens) - len(mask)]
        response = tokens[len(prompt) :][:width]
        if not response:  # verl wants a token; it trains on nothing
            pad = self.tokenizer.pad_token_id
            response, trained = [self.tokenizer.eos_token_id if pad is None else pad], np.zeros(1, int)
            logps = None if logps is None else [0.0]
        fields |= {
            "turn_spans": shown,
            "turn_rewards": talk.rewards[:n],
            "turn_keep": talk.keep[:n],
            "turn_correct": [o.correct for o in talk.outcomes[:n]],
            "turn_speedup": [o.speedup or 0.0 for o in talk.outcomes[:n]],
            "turn_coverage": [o.coverage or 0.0 for o in talk.outcomes[:n]],
            "turn_scores": talk.rewards[:n],
            "tool_rewards": [],
            "reward_extra_info": {k: float(v) for k, v in talk.figures.items()},
        }
        return TurnOutput(
            prompt_ids=prompt,
            response_ids=response,
            response_mask=[int(x) for x in trained],
            response_logprobs=None if logps is None else logps[:width],
            reward_score=float(sum(talk.rewards[:n])),
            num_turns=2 * len(talk.outcomes),
            metrics=timing,
            extra_fields=fields,
        )


@_reward_manager.register("assay")
class AssayRewardManager(RewardManagerBase):
    """Judges the last answer of each row (reward.reward_manager.name=assay, or source=importlib with
    module.path=pkg://assay.integrations.verl_rollout and name=AssayRewardManager). config.reward.assay
    may hold `evaluator` (as AssayAgentLoop's), `reward` (default speedup/1), `reward_options`, `options`.
    Returns the reward and the figures of conversation.Conversation; an infrastructure fault is worth 0
    and has `masked` 1."""

    def __init__(self, config: Any, tokenizer: Any, compute_score: Any = None, **_: Any) -> None:
        super().__init__(config, tokenizer, compute_score)
        settings = _plain(config.get("reward", {}).get("assay"))
        self._evaluator = settings.pop("evaluator", None) or settings_from_environment()
        self._options = settings

    async def run_single(self, data: Any) -> dict[str, Any]:
        item = data[-1:][0]
        responses = item.batch["responses"]
        length = int(item.batch["attention_mask"][-responses.shape[-1] :].sum())
        row = item.non_tensor_batch
        talk = Conversation(Task.from_row(row, row.get("raw_prompt")), turns=1, **self._options)
        text = self.tokenizer.decode(responses[:length], skip_special_tokens=True)
        verdict = await shared_judge(self._evaluator)(talk.submission(text))
        talk.record(text, verdict)
        return {
            "reward_score": talk.rewards[0],
            "reward_extra_info": {k: float(v) for k, v in talk.figures.items()},
        }
