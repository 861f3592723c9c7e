"""slime: functions for its command line. slime is imported where it runs.

    --custom-generate-function-path   assay.integrations.slime.generate
    --custom-reward-post-process-path assay.integrations.slime.trloo
    --custom-tis-function-path        assay.integrations.slime.mismatch
    --rollout-sample-filter-path      assay.integrations.slime.coverage_filter

Each turn is its own Sample, with `sample.metadata["assay"] = {"trajectory": id, "turn": number, "keep":
bool, "correct": bool, "coverage": share}`; correct and coverage only for the filter. generate() makes them so.
group_index is the prompt. Use --advantage-estimator grpo with --disable-rewards-normalization, which trains
on the rewards as given. $ASSAY_EVALUATOR says where to judge ("command", an address, or JSON with options),
$ASSAY_TURNS how many turns there are (3).
"""

from __future__ import annotations

import copy
import functools
import os
from typing import Any

import numpy as np

import assay.rl as rl

from .conversation import Conversation, Task
from .evaluator import settings_from_environment, shared_judge

TESTED = "the sources of 2026-08-21 (624b824); slime is not on the package index"


@functools.cache
def _tokenizer(checkpoint: str) -> Any:
    from slime.utils.processing_utils import load_tokenizer

    return load_tokenizer(checkpoint, trust_remote_code=True)


async def generate(args: Any, sample: Any, sampling_params: dict[str, Any]) -> list[Any]:
    """A conversation about the kernel that sample.metadata (task_id) or sample.label (the reference module)
    names: one Sample per turn, each with its own whole prompt, its reward, and metadata["assay"].
    sample.prompt is the first question, as messages or as text."""
    from slime.utils.http_utils import post

    messages = sample.prompt
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    metadata = sample.metadata or {}
    row = {"task_source": sample.label, **metadata}
    talk = Conversation(Task.from_row(row, messages), turns=int(os.environ.get("ASSAY_TURNS", "3")))
    judge = shared_judge(settings_from_environment())
    tokenizer = _tokenizer(args.hf_checkpoint)
    url = f"http://{args.sglang_router_ip}:{args.sglang_router_port}/generate"
    limit = getattr(args, "rollout_max_context_len", None)
    turns = []
    while not talk.done:
        text = tokenizer.apply_chat_template(
            talk.messages, tokenize=False, add_generation_prompt=True
        )
        prompt = tokenizer.encode(text, add_special_tokens=False)
        params = dict(sampling_params)
        if limit is not None:
            params["max_new_tokens"] = min(params["max_new_tokens"], limit - len(prompt))
        if params["max_new_tokens"] < 1:
            talk.exhaust()
            break
        payload = {"input_ids": prompt, "sampling_params": params, "return_logprob": True}
        output = await post(url, payload)
        sampled = output["meta_info"].get("output_token_logprobs") or []
        if output["meta_info"].get("finish_reason", {}).get("type") == "abort" or not sampled:
            talk.exhaust()
            break
        turn = copy.deepcopy(sample)
        turn.tokens = prompt + [item[1] for item in sampled]
        turn.rollout_log_probs = [item[0] for item in sampled]
        turn.response, turn.response_length = output["text"], len(sampled)
        turn.loss_mask = [1] * len(sampled)
        turn.rollout_id = sample.index if sample.rollout_id is None else sample.rollout_id
        turns.append(turn)
        talk.record(output["text"], await judge(talk.submission(output["text"])))
    if not turns:
        sample.status = type(sample).Status.ABORTED
        return [sample]
    for number, (turn, outcome, keep) in enumerate(zip(turns, talk.outcomes, talk.keep), 1):
        turn.reward = talk.rewards[number - 1]
        turn.status = type(sample).Status.COMPLETED
        turn.remove_sample = not keep
        turn.metadata = metadata | {"assay": {
            "trajectory": sample.index, "turn": number, "keep": keep, "correct": outcome.correct,
            "coverage": outcome.coverage or 0.0, "status": outcome.status,
        }}  # fmt: skip
    return turns


def _turns(samples: list) -> list[dict]:
    turns = []
    for number, sample in enumerate(samples):
        turn = (sample.metadata or {}).get("assay")
        if not isinstance(turn, dict) or not {"trajectory", "turn"} <= turn.keys():
            raise ValueError(
                f"sample {number} has no metadata['assay'] with trajectory and turn; set it in the "
                "custom generate function"
            )
        turns.append(turn)
    return turns


def _batch(samples: list, reward: list[float] | None) -> tuple[rl.Batch, list[dict]]:
    turns = _turns(samples)
    batch = rl.Batch(
        group=[s.group_index for s in samples],
        trajectory=rl.ids([f"{s.group_index}/{t['trajectory']}" for s, t in zip(samples, turns)]),
        turn=[t["turn"] for t in turns],
        reward=reward,
        keep=[bool(t.get("keep", True)) for t in turns],
    )
    return batch, turns


def _flatten(samples: list) -> list:
    return [x for s in samples for x in (s if isinstance(s, list) else [s])]


def trloo(args: Any, samples: list) -> tuple[list[float], list[float]]:
    """(raw rewards, advantages) of all samples; gamma from args.gamma."""
    samples = _flatten(samples)
    raw = [float(s.get_reward_value(args)) for s in samples]
    batch, _ = _batch(samples, raw)
    result = rl.advantages("trloo", batch=batch, gamma=float(getattr(args, "gamma", 1.0)))
    return raw, result.advantage.tolist()


def coverage_filter(args: Any, samples: list) -> None:
    """Sets remove_sample on turns that coverage sampling rejects. Seed: args.seed, step:
    args.rollout_id if there."""
    samples = _flatten(samples)
    batch, turns = _batch(samples, None)
    sampled = rl.sample_by_coverage(
        batch,
        np.ones((len(samples), 1), np.uint8),
        correct=[bool(t["correct"]) for t in turns],
        coverage=[float(t["coverage"]) for t in turns],
        seed=int(getattr(args, "seed", 0)),
        step=int(getattr(args, "rollout_id", 0) or 0),
    )
    for sample, rejected in zip(samples, sampled.rejected):
        sample.remove_sample = bool(sample.remove_sample or rejected)


def mismatch(
    args: Any,
    *,
    pg_loss: Any,
    train_log_probs: list,
    rollout_log_probs: list,
    loss_masks: list,
    **_: Any,
) -> tuple[Any, list, dict]:
    """Geometric rejection per sample with a token veto (args.assay_lower, assay_upper, assay_veto; the
    published recipe's values by default). The loss stays as it is; rejected samples' masks become 0.
    Without context parallelism only: the lists must hold whole responses."""
    import torch

    lengths = [len(x) for x in train_log_probs]
    if lengths != [len(m) for m in loss_masks]:
        raise ValueError(
            "log-probabilities and masks differ in length: with context parallelism gather them first"
        )
    rows = np.arange(len(lengths))
    result = rl.correct_mismatch(
        rl.Batch(group=rows, trajectory=rows, turn=np.ones_like(rows)),
        torch.cat([x.detach().float().cpu() for x in train_log_probs]),
        torch.cat([x.detach().float().cpu() for x in rollout_log_probs]),
        torch.cat([m.cpu() for m in loss_masks]),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        rejection="geometric",
        lower=float(getattr(args, "assay_lower", 0.999)),
        upper=float(getattr(args, "assay_upper", 1.001)),
        veto=float(getattr(args, "assay_veto", 1e-4)),
    )
    trained = torch.split(result.state & rl.TRAINED, lengths)
    masks = [t.to(device=m.device, dtype=m.dtype) for t, m in zip(trained, loss_masks)]
    # slime reduces metrics like the loss, so each is one value per token.
    metrics = {k: torch.full_like(pg_loss, v) for k, v in result.metrics.items()}
    return pg_loss, masks, metrics
