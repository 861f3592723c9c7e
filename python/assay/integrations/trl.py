"""TRL: GRPOTrainer with one advantage per turn.

    from assay.integrations.trl import TurnGRPOTrainer, TurnOptions, conversation_rollout
    rollout = conversation_rollout(make_evaluator("http://judge:8000"), tasks, turns=3)
    trainer = TurnGRPOTrainer(..., rollout_func=rollout, turn_options=TurnOptions(gamma=1.0))

conversation_rollout holds the conversations of assay.integrations.conversation. A rollout_func of your own
plays whole conversations and returns, besides TRL's prompt_ids, completion_ids, logprobs and
env_mask, one entry per conversation of

    turn_spans     [(start, end), …] of each turn's own tokens in completion_ids
    turn_rewards   [reward, …] of each turn
    turn_correct, turn_coverage   (for coverage sampling)
    turn_failed    (optional) whether its evaluation failed through no fault of the policy: then the
                   whole conversation is masked

Reward functions still run (TRL needs one to log); their result is replaced by the turns' advantages,
token by token, which TRL's loss takes as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import assay.rl as rl

from ._engine import require
from .conversation import Conversation, Task, prompt_for
from .evaluator import Evaluator

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


Answers = list[tuple[list[int], list[float]]]  # token ids and their log-probabilities


@torch.no_grad()
def model_answers(trainer: GRPOTrainer, prompts: list[list[int]], room: list[int]) -> Answers:
    """Samples one answer to each prompt from the trainer's own model, without an inference engine; at
    most room[i] tokens, the end of the turn included."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    tokenizer, args = trainer.processing_class, trainer.args
    width = max(map(len, prompts))
    ids = torch.full((len(prompts), width), tokenizer.pad_token_id)
    for i, prompt in enumerate(prompts):
        ids[i, width - len(prompt) :] = torch.tensor(prompt)
    seen = torch.arange(width) >= torch.tensor([width - len(p) for p in prompts])[:, None]
    was_training = model.training
    model.eval()
    out = model.generate(
        input_ids=ids.to(model.device), attention_mask=seen.long().to(model.device),
        max_new_tokens=max(room), do_sample=True, temperature=args.temperature, top_p=args.top_p,
        top_k=args.top_k, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        return_dict_in_generate=True, output_logits=True,
    )  # fmt: skip
    model.train(was_training)
    # Of the policy's own distribution at this temperature, as the trainer computes them.
    logps = torch.log_softmax(torch.stack(out.logits, 1).float() / args.temperature, -1)
    new = out.sequences[:, width:]
    picked = logps.gather(-1, new.unsqueeze(-1)).squeeze(-1)
    answers = []
    for i, row in enumerate(new.tolist()):
        end = row.index(tokenizer.eos_token_id) + 1 if tokenizer.eos_token_id in row else len(row)
        end = min(end, room[i])
        answers.append((row[:end], picked[i, :end].tolist()))
    return answers


def _what_follows(tokenizer: Any, messages: list[dict], answer: list[int]) -> list[int]:
    """Tokens between an answer and the next one: its end, if it was cut, the next question, and the
    beginning of an answer. `messages` end with that question."""
    mark = "\x00answer\x00"
    marked = [*messages[:-2], {"role": "assistant", "content": mark}, messages[-1]]
    text = tokenizer.apply_chat_template(marked, tokenize=False, add_generation_prompt=True)
    rest = text.split(mark, 1)[1]
    if answer and answer[-1] == tokenizer.eos_token_id:
        rest = rest.removeprefix(tokenizer.eos_token)
    return tokenizer.encode(rest, add_special_tokens=False)


def conversation_rollout(
    evaluator: Evaluator,
    tasks: Sequence[Task],
    *,
    turns: int = 3,
    answers: Callable[[GRPOTrainer, list[list[int]], list[int]], Answers] = model_answers,
    **options: Any,
) -> Callable[[list, GRPOTrainer], dict[str, list]]:
    """A rollout_func that holds one conversation per prompt, all of a batch in step, so that a turn is
    one call of the evaluator. `tasks`: their messages are the dataset's prompts; options: of
    Conversation. max_completion_length of the trainer bounds a whole conversation. Besides what
    TurnGRPOTrainer needs it returns turn_status and turn_speedup."""
    known = {_key(t.messages or prompt_for(t.task_source, t.entry)): t for t in tasks}
    if options.get("recent") is not None:
        raise ValueError("one sequence holds the whole conversation: `recent` cannot be used here")

    def rollout(prompts: list, trainer: GRPOTrainer) -> dict[str, list]:
        tokenizer, limit = trainer.processing_class, trainer.args.max_completion_length
        talks = [_Talk(known, prompt, tokenizer, turns, options) for prompt in prompts]
        while open_ := [t for t in talks if t.may_answer(limit)]:
            said = answers(trainer, [t.prompt + t.completion for t in open_],
                           [limit - len(t.completion) for t in open_])  # fmt: skip
            for talk, (ids, logps) in zip(open_, said, strict=True):
                talk.answer(ids, logps)
            asked = [t for t in open_ if not t.talk.exhausted]
            verdicts = evaluator.evaluate([t.talk.submission(t.text) for t in asked])
            for talk, verdict in zip(asked, verdicts, strict=True):
                talk.judged(verdict)
        return {name: [t.record()[name] for t in talks] for name in talks[0].record()}

    return rollout


def _key(messages: Any) -> str:
    return json.dumps(messages, sort_keys=True, default=str)


class _Talk:
    """A conversation and its tokens."""

    def __init__(
        self, known: Mapping[str, Task], prompt: Any, tokenizer: Any, turns: int, options: Mapping
    ) -> None:
        messages = prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]
        task = known.get(_key(messages))
        if task is None:
            raise ValueError(f"no task has this prompt: {str(prompt)[:200]!r}")
        self.talk = Conversation(replace(task, messages=messages), turns=turns, **options)
        self._tokenizer = tokenizer
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        self.prompt: list[int] = tokenizer.encode(text, add_special_tokens=False)
        self.completion: list[int] = []
        self.logps: list[float] = []
        self.mask: list[int] = []
        self.spans: list[tuple[int, int]] = []
        self.text = ""

    def may_answer(self, limit: int) -> bool:
        if not self.talk.done and self.talk.outcomes:
            messages = self.talk.messages
            follows = _what_follows(self._tokenizer, messages, self.completion[-1:])
            self.completion += follows
            self.logps += [0.0] * len(follows)
            self.mask += [0] * len(follows)
        if not self.talk.done and len(self.completion) >= limit:
            self.talk.exhaust()
        return not self.talk.done

    def answer(self, ids: list[int], logps: list[float]) -> None:
        if not ids:
            self.talk.exhaust()
            return
        start = len(self.completion)
        self.completion += ids
        self.logps += logps
        self.mask += [1] * len(ids)
        self.spans.append((start, len(self.completion)))
        self.text = self._tokenizer.decode(ids, skip_special_tokens=True)

    def judged(self, verdict: dict) -> None:
        self.talk.record(self.text, verdict)

    def record(self) -> dict[str, Any]:
        last = self.spans[-1][1] if self.spans else 0  # questions without an answer are not trained
        outcomes = self.talk.outcomes
        return {
            "prompt_ids": self.prompt,
            "completion_ids": self.completion[:last] or [self._tokenizer.eos_token_id],
            "logprobs": self.logps[:last] or [0.0],
            "env_mask": self.mask[:last] or [0],
            "turn_spans": self.spans,
            "turn_rewards": self.talk.rewards,
            "turn_failed": [o.masked for o in outcomes],
            "turn_correct": [o.correct for o in outcomes],
            "turn_coverage": [o.coverage or 0.0 for o in outcomes],
            "turn_speedup": [o.speedup or 0.0 for o in outcomes],
            "turn_status": [o.status for o in outcomes],
        }


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
        mine = [
            (list(x["turn_spans"]), list(x["turn_rewards"]), list(x.get("turn_failed") or []))
            for x in inputs
        ]
        everyone = gather_object(mine)
        first = self.accelerator.process_index * len(mine)
        trajectory = [i for i, (spans, _, _) in enumerate(everyone) for _ in spans]
        turn = [t for spans, _, _ in everyone for t in range(1, len(spans) + 1)]
        reward = [r for _, rewards, _ in everyone for r in rewards]
        failed = [f for spans, _, fs in everyone for f in (fs or [False] * len(spans))]
        if not len(reward) == len(turn) == len(failed):
            raise ValueError("turn_rewards, turn_failed and turn_spans differ in length")
        rows = {
            "group": np.array(trajectory, np.int64) // per_group,
            "trajectory": np.array(trajectory, np.int64),
            "turn": np.array(turn, np.int64),
            "reward": np.array(reward, np.float64),
        }
        keep = rl.void_turns(
            rl.Batch(**rows), failed=failed, mask_void_turn=self.turn_options.mask_void_turn
        )
        batch = rl.Batch(**rows, keep=keep)
        result = rl.advantages(
            self.turn_options.estimator, batch=batch, gamma=self.turn_options.gamma,
            **self.turn_options.advantage_options,
        )  # fmt: skip
        own = (batch.trajectory >= first) & (batch.trajectory < first + len(mine))
        spans = [s for turn_spans, _, _ in mine for s in turn_spans]
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
            for key in ("turn_correct", "turn_coverage"):
                if any(key not in x for x in inputs):
                    raise ValueError(f"coverage sampling needs {key} from rollout_func, one list per conversation")
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
