"""slime's hooks and generation, against its own types where a checkout of it is named."""

import asyncio
import os
import pathlib
import sys
import types
from dataclasses import dataclass, field
from types import SimpleNamespace

import engines
import pytest
import torch
from batches import dense

import assay.rl as rl

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/rl"
SLIME = os.environ.get("ASSAY_SLIME_SOURCE")  # a checkout: it is not on the index


class Sample(SimpleNamespace):
    """The part of slime's Sample that its hooks promise."""

    def get_reward_value(self, args):
        return self.reward


def test_slime_hooks():
    from assay.integrations import slime

    d = dense(8)
    samples, where = [], []
    for i in torch.nonzero(d.real).flatten().tolist():
        samples.append(Sample(
            group_index=int(d.group[i]), reward=float(d.reward[i]), remove_sample=False,
            metadata={"assay": {
                "trajectory": int(d.trajectory[i]), "turn": int(d.turn[i]), "keep": bool(d.keep[i]),
                "correct": bool(d.correct[i]), "coverage": float(d.coverage[i])}},
        ))  # fmt: skip
        where.append(i)
    args = SimpleNamespace(gamma=0.5, seed=3, rollout_id=4)
    raw, processed = slime.trloo(args, samples)
    real = d.real.numpy()
    want = rl.advantages(
        "trloo", group=d.group[real], trajectory=d.trajectory[real], turn=d.turn[real],
        reward=d.reward[real], keep=d.keep[real], gamma=0.5,
    )  # fmt: skip
    assert raw == d.reward[real].tolist()
    assert processed == want.advantage.tolist()
    slime.coverage_filter(args, samples)
    removed = [s.remove_sample for s in samples]
    assert any(removed)
    for s, i in zip(samples, where):
        if not d.correct[i] or d.coverage[i] >= 0.4:
            assert not s.remove_sample
        if d.correct[i] and d.coverage[i] <= 0.3:
            assert s.remove_sample
    samples[0].metadata = {}
    with pytest.raises(ValueError, match="sample 0 has no metadata"):
        slime.trloo(args, samples)


def test_slime_mismatch():
    from assay.integrations import slime

    train = [torch.full((n,), -1.0) for n in (4, 3, 5)]
    rollout = [t.clone() for t in train]
    rollout[1] -= 0.01
    rollout[2][2] = 12.0
    masks = [torch.ones(len(t), dtype=torch.int) for t in train]
    loss, edited, metrics = slime.mismatch(
        SimpleNamespace(), pg_loss=torch.ones(12), train_log_probs=train, rollout_log_probs=rollout,
        loss_masks=masks, total_lengths=None, response_lengths=None,
    )  # fmt: skip
    assert [int(m.sum()) for m in edited] == [4, 0, 0]
    assert loss.sum() == 12
    assert float(metrics["rollout_is_veto_fraction"][0]) == pytest.approx(1 / 3)


def slime_post(monkeypatch, replies):
    """slime's own types where its sources are given, else modules of the same names; its HTTP client
    answers as SGLang's router does."""
    asked = []

    async def post(url, payload, **_):
        asked.append((url, payload))
        text = replies.pop(0)
        logprobs = [[-0.5, 10 + i, None] for i in range(len(text))]
        return {"text": text, "meta_info": {
            "output_token_logprobs": logprobs, "finish_reason": {"type": "stop" if text else "abort"}}}

    class Tokens:
        def apply_chat_template(self, messages, **_):
            return "".join(f"<{m['role']}>{m['content']}" for m in messages)

        def encode(self, text, **_):
            return list(text.encode())

    if SLIME:
        monkeypatch.syspath_prepend(SLIME)
        http_utils, processing, types_ = (
            engines.module(f"slime.utils.{n}", "slime's own HTTP client and Sample are")
            for n in ("http_utils", "processing_utils", "types")
        )
        kind = types_.Sample
    else:
        for name in ("slime", "slime.utils", "slime.utils.http_utils", "slime.utils.processing_utils"):
            monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        http_utils, processing = (sys.modules[f"slime.utils.{n}"] for n in ("http_utils", "processing_utils"))
        kind = FullSample
    monkeypatch.setattr(http_utils, "post", post, raising=False)
    monkeypatch.setattr(processing, "load_tokenizer", lambda *_, **__: Tokens(), raising=False)
    return kind, asked


@dataclass
class FullSample:
    """The fields of slime's Sample that generate() reads and writes."""

    group_index: int = None
    index: int = None
    rollout_id: int = None
    prompt: object = ""
    tokens: list = field(default_factory=list)
    response: str = ""
    response_length: int = 0
    label: str = None
    reward: float = None
    loss_mask: list = None
    rollout_log_probs: list = None
    remove_sample: bool = False
    metadata: dict = field(default_factory=dict)
    status: object = None
    Status = SimpleNamespace(COMPLETED="completed", ABORTED="aborted")

    def get_reward_value(self, args):
        return self.reward


def test_slime_generates_a_sample_per_turn(monkeypatch):
    from assay.integrations import evaluator as ev
    from assay.integrations import slime

    kind, asked = slime_post(monkeypatch, ["aa", "bbb", "cc", "dd", "", ""])
    slime._tokenizer.cache_clear()
    ev._judges.clear()
    statuses = ["incorrect", "correct", "incorrect", "correct"]

    class Fixed:
        batches = True

        def evaluate(self, submissions):
            return [{"status": s, "correct": s == "correct", "compiled": True, "feedback": f"it is {s}",
                     "flags": [], "timing": {"speedup": {"value": 2.0}}}
                    for s in (statuses.pop(0) for _ in submissions)]  # fmt: skip

    monkeypatch.setattr(ev, "make_evaluator", lambda where, **_: Fixed())
    args = SimpleNamespace(
        hf_checkpoint="x", sglang_router_ip="h", sglang_router_port=1, rollout_max_context_len=10**6,
        gamma=1.0, reward_key=None,
    )  # fmt: skip
    template = lambda i: kind(group_index=4, index=i, prompt="q", label="class Model: ...")  # noqa: E731

    async def run():
        first = await slime.generate(args, template(7), {"max_new_tokens": 64})
        second = await slime.generate(args, template(8), {"max_new_tokens": 64})
        third = await slime.generate(args, template(9), {"max_new_tokens": 64})
        return first, second, third

    first, second, third = asyncio.run(run())
    ev._judges.clear()
    assert [s.reward for s in first] == [0.0, 1.5, 0.0] and [s.reward for s in second] == [1.5]
    assert [s.remove_sample for s in first] == [False, False, True], "the failure after a success is void"
    assert [s.response for s in first] == ["aa", "bbb", "cc"] and first[1].response_length == 3
    assert first[1].tokens[-3:] == [10, 11, 12] and first[1].rollout_log_probs == [-0.5] * 3
    assert {s.rollout_id for s in first} == {7} and first[0].status == kind.Status.COMPLETED
    assert third[0].status == kind.Status.ABORTED
    prompts = [bytes(p["input_ids"]).decode() for _, p in asked]
    assert prompts[1].startswith(prompts[0].removesuffix("<assistant>")) and "it is incorrect" in prompts[1]
    assert asked[0][0] == "http://h:1/generate" and asked[0][1]["return_logprob"]
    raw, processed = slime.trloo(args, [first, second])
    assert raw == [0.0, 1.5, 0.0, 1.5]
    # Returns 1.5, 1.5, (void) against 1.5 in turn 1; alone in turn 2.
    assert processed == [0.0, 1.5, 0.0, 0.0]


@pytest.mark.skipif(not SLIME, reason="ASSAY_SLIME_SOURCE names no checkout of slime (it is not on the index): "
                    "its argument parser and Sample are NOT tested")  # fmt: skip
def test_slimes_own_parser_takes_the_examples_arguments():
    source = pathlib.Path(SLIME, "slime/utils/arguments.py").read_text()
    for option in (EXAMPLES / "slime.sh").read_text().split():
        if option.startswith("--"):
            assert f'"{option}"' in source, option
