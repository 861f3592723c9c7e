"""Real optimisation steps through TRL on the CPU: a tiny random Qwen2 model and eight conversations of
three turns; judged by assay eval and by assay serve, else by a rule of this file where the judgement is not
the point."""

import os

import numpy as np
import pytest
import torch

pytest.importorskip("trl", reason="TRL is not installed: the TRL adapter is NOT tested")

from datasets import Dataset  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM  # noqa: E402
from trl import GRPOConfig  # noqa: E402

import assay.rl as rl  # noqa: E402
from assay.integrations.trl import TurnGRPOTrainer, TurnOptions  # noqa: E402

TURNS, TOKENS, SAMPLES = 3, 5, 8
ALPHABET = "abcdefgh"


def tokenizer():
    vocabulary = {t: i for i, t in enumerate(["<pad>", "<eos>", "<unk>", *ALPHABET])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def model():
    torch.manual_seed(0)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=16, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
            pad_token_id=0, eos_token_id=1,
        )
    )  # fmt: skip


def evaluate(tokens):
    """This file's rule: how many tokens of the turn are an 'a' or a 'b'; none: it failed."""
    hits = sum(t in (3, 4) for t in tokens)
    return hits / len(tokens)


@torch.no_grad()
def rollout(prompts, trainer):
    """Three turns of five sampled tokens, each followed by two tokens of feedback."""
    lm, tok = trainer.model, trainer.processing_class
    out = {k: [] for k in ("prompt_ids", "completion_ids", "logprobs", "env_mask", "turn_spans",
                           "turn_rewards", "turn_correct", "turn_coverage")}  # fmt: skip
    for prompt in prompts:
        ids = tok(prompt)["input_ids"]
        completion, logps, mask, spans, rewards = [], [], [], [], []
        for _ in range(TURNS):
            start = len(completion)
            for _ in range(TOKENS):
                p = torch.log_softmax(lm(torch.tensor([ids + completion])).logits[0, -1].float(), -1)
                token = 3 + int(torch.multinomial(p[3:].exp(), 1))  # no special tokens
                completion.append(token)
                logps.append(float(p[token]))
                mask.append(1)
            spans.append((start, len(completion)))
            rewards.append(evaluate(completion[start:]))
            completion += [9, 10]
            logps += [0.0, 0.0]
            mask += [0, 0]
        out["prompt_ids"].append(ids)
        out["completion_ids"].append(completion)
        out["logprobs"].append(logps)
        out["env_mask"].append(mask)
        out["turn_spans"].append(spans)
        out["turn_rewards"].append(rewards)
        out["turn_correct"].append([r > 0 for r in rewards])
        out["turn_coverage"].append([min(1.0, 2 * r) for r in rewards])
    rollout.last = out
    return out


class Recording(TurnGRPOTrainer):
    def _generate_and_score_completions(self, inputs):
        self.recorded = super()._generate_and_score_completions(inputs)
        return self.recorded


def trainer(tmp_path, options, **config):
    arguments = {
        "per_device_train_batch_size": SAMPLES, "num_generations": SAMPLES, "max_steps": 1,
        "learning_rate": 1e-2, "use_cpu": True, "bf16": False, "report_to": "none",
        "save_strategy": "no", "max_completion_length": 64, "logging_steps": 1,
        "disable_tqdm": True, "gradient_checkpointing": False,
    } | config  # fmt: skip
    return Recording(
        model=model(), processing_class=tokenizer(), reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=GRPOConfig(output_dir=str(tmp_path), **arguments),
        train_dataset=Dataset.from_dict({"prompt": ["abc", "hgf"]}), rollout_func=rollout,
        turn_options=options,
    )  # fmt: skip


def expected(gamma):
    """The library's advantages from the recorded conversations, spread by hand."""
    out = rollout.last
    rows = [(i, t + 1, r) for i, rs in enumerate(out["turn_rewards"]) for t, r in enumerate(rs)]
    trajectory, turn, reward = map(np.array, zip(*rows))
    keep = rl.void_turns(
        rl.Batch(group=trajectory * 0, trajectory=trajectory, turn=turn, reward=reward)
    )
    result = rl.advantages(
        "trloo", group=trajectory * 0, trajectory=trajectory, turn=turn, reward=reward, keep=keep,
        gamma=gamma,
    )  # fmt: skip
    width = max(len(c) for c in out["completion_ids"])
    dense, mask = np.zeros((SAMPLES, width), np.float32), np.zeros((SAMPLES, width), int)
    for (i, t, _), a, k in zip(rows, result.advantage, keep):
        start, end = out["turn_spans"][i][t - 1]
        dense[i, start:end] = a
        mask[i, start:end] = k
    return dense, mask


@pytest.mark.filterwarnings("ignore")
def test_one_step_changes_the_model_with_the_librarys_advantages(tmp_path, monkeypatch):
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    run = trainer(tmp_path, TurnOptions(gamma=0.4))
    before = [p.detach().clone() for p in run.model.parameters()]
    result = run.train()
    dense, mask = expected(0.4)
    np.testing.assert_array_equal(run.recorded["advantages"].numpy(), dense)
    np.testing.assert_array_equal(run.recorded["tool_mask"].numpy(), mask)
    assert np.abs(dense).max() > 0
    assert np.isfinite(result.training_loss)
    assert any(not torch.equal(a, b) for a, b in zip(before, run.model.parameters()))
    assert all(torch.isfinite(p).all() for p in run.model.parameters())


GOOD, WRONG, BROKEN, MODEL = "good", "wrong", "broken", "model"
SCRIPT = [  # of each conversation, turn by turn; MODEL: the tiny model's own words
    [GOOD, GOOD, GOOD], [WRONG, GOOD, BROKEN], [BROKEN, WRONG, GOOD], [WRONG, WRONG, WRONG],
    [MODEL, GOOD, GOOD], [MODEL, MODEL, MODEL], [MODEL, MODEL, GOOD], [WRONG, MODEL, GOOD],
]  # fmt: skip


@pytest.fixture(params=["eval", "serve"])
def judge(request, assay_bin):
    """Assay as a trainer meets it: the command, and a server of its own."""
    from assay.integrations.evaluator import CommandEvaluator, make_evaluator

    if request.param == "serve":
        return make_evaluator(request.getfixturevalue("served"))
    return CommandEvaluator(
        program=str(assay_bin), python=os.environ["ASSAY_PYTHON"], device="cpu", jobs=2
    )


@pytest.mark.filterwarnings("ignore")
def test_one_step_judged_by_assay(tmp_path, monkeypatch, judge):
    """24 submissions through Assay, and one step on what it said of them."""
    import tiny

    from assay.integrations.conversation import Task
    from assay.integrations.trl import conversation_rollout, model_answers

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    codes = {GOOD: tiny.GOOD, WRONG: tiny.WRONG, BROKEN: tiny.BROKEN}
    question = [{"role": "user", "content": "Write it."}]
    told, turn = [], iter(range(TURNS))

    def answers(trainer, prompts, room):
        t = next(turn)
        told.append(prompts)
        sampled = model_answers(trainer, prompts, [min(r, 12) for r in room])
        for i, script in enumerate(SCRIPT):
            if script[t] != MODEL:
                tok = trainer.processing_class
                ids = tok.encode(tiny.answer(codes[script[t]]), add_special_tokens=False)
                ids = [*ids, tok.eos_token_id]
                sampled[i] = (ids, tiny.log_probs(trainer.model, prompts[i], ids))
        return sampled

    play = conversation_rollout(
        judge, [Task(task_source=tiny.REFERENCE, messages=question)], turns=TURNS,
        answers=answers, options={"trials": 2, "time": False},
    )  # fmt: skip

    def kept(prompts, trainer):
        rollout.last = play(prompts, trainer)
        return rollout.last

    run = Recording(
        model=tiny.model(), processing_class=tiny.tokenizer(),
        reward_funcs=lambda completions, turn_rewards, **_: [sum(r) for r in turn_rewards],
        args=GRPOConfig(
            output_dir=str(tmp_path), per_device_train_batch_size=SAMPLES, num_generations=SAMPLES,
            max_steps=1, learning_rate=1e-2, use_cpu=True, bf16=False, report_to="none",
            save_strategy="no", max_completion_length=8192, disable_tqdm=True,
            gradient_checkpointing=False,
        ),
        train_dataset=Dataset.from_dict({"prompt": [question] * 2}), rollout_func=kept,
        turn_options=TurnOptions(),
    )  # fmt: skip
    before = [p.detach().clone() for p in run.model.parameters()]
    result = run.train()

    status = {GOOD: "correct", WRONG: "incorrect", BROKEN: "invalid_submission"}
    for script, said in zip(SCRIPT, rollout.last["turn_status"], strict=True):
        for wanted, got in zip(script, said, strict=True):
            assert got == status[wanted] if wanted in status else got not in ("correct", "infra_error")
    # What the model sees grows token by token, and the verdict's words are in it.
    for first, second in zip(told, told[1:]):
        assert all(b[: len(a)] == a for a, b in zip(first, second))
    assert "Incorrect: 0 of 2 trials passed" in run.processing_class.decode(told[1][1])

    dense, mask = expected(1.0)
    np.testing.assert_array_equal(run.recorded["advantages"].numpy(), dense)
    np.testing.assert_array_equal(run.recorded["tool_mask"].numpy(), mask)
    assert np.abs(dense * mask).max() > 0.1
    assert np.isfinite(result.training_loss)
    changed = [not torch.equal(a, b) for a, b in zip(before, run.model.parameters())]
    assert any(changed) and all(torch.isfinite(p).all() for p in run.model.parameters())
    with pytest.raises(ValueError, match="no task has this prompt"):
        play([[{"role": "user", "content": "Something else."}]], run)


@pytest.mark.filterwarnings("ignore")
def test_the_models_own_answers_have_the_trainers_probabilities(tmp_path, monkeypatch):
    """Judged by a rule here; with an infrastructure fault, which masks its conversation."""
    import tiny

    from assay.integrations.conversation import Task
    from assay.integrations.evaluator import unavailable
    from assay.integrations.trl import conversation_rollout

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    question = [{"role": "user", "content": "Write it."}]
    calls = []

    class Rule:
        batches = True

        def evaluate(self, submissions):
            calls.append(len(submissions))
            verdicts = [
                {"status": "correct", "correct": len(s.source) % 2 == 0, "compiled": True,
                 "feedback": "told", "timing": {"speedup": None}, "flags": []}
                for s in submissions
            ]  # fmt: skip
            if len(calls) % 2 == 0:
                verdicts[0] = unavailable("gone")
            return verdicts

    play = conversation_rollout(Rule(), [Task(task_source="x", messages=question)], turns=2)

    def kept(prompts, trainer):
        rollout.last = play(prompts, trainer)
        return rollout.last

    run = Recording(
        model=tiny.model(), processing_class=tiny.tokenizer(),
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=GRPOConfig(
            output_dir=str(tmp_path), per_device_train_batch_size=4, num_generations=4, max_steps=2,
            num_iterations=2, use_cpu=True, bf16=False, report_to="none", save_strategy="no",
            max_completion_length=300, disable_tqdm=True, gradient_checkpointing=False, temperature=0.7,
        ),
        train_dataset=Dataset.from_dict({"prompt": [question] * 2}), rollout_func=kept,
        turn_options=TurnOptions(mismatch={"rejection": "geometric", "upper": 1.01}),
    )  # fmt: skip
    run.train()
    assert run.recorded["advantages"].shape[1] <= 300
    logged = [entry for entry in run.state.log_history if "mismatch/kl" in entry]
    assert logged and abs(logged[0]["mismatch/kl"]) < 1e-4
    failed = [any(f) for f in rollout.last["turn_failed"]]
    assert failed.count(True) == 1, "one conversation's second turn could not be judged"
    trained = run.recorded["tool_mask"].sum(1)
    assert trained[failed.index(True)] == 0 and trained[failed.index(False)] > 0


@pytest.mark.filterwarnings("ignore")
def test_the_example_trains(tmp_path, monkeypatch):
    """examples/rl/trl_turns.py with a tiny model; the evaluator has no verdict to give, so nothing trains."""
    import pathlib

    import tiny

    from assay.integrations.evaluator import unavailable

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    monkeypatch.syspath_prepend(str(pathlib.Path(__file__).resolve().parents[2] / "examples/rl"))
    import trl_turns

    class Correct:
        batches = True

        def evaluate(self, submissions):
            first = {"status": "correct", "correct": True, "compiled": True, "feedback": "", "flags": [],
                     "timing": {"speedup": {"value": 2.0}}, "profile": {"coverage_time": 0.1}}  # fmt: skip
            return [first, *(unavailable("gone") for _ in submissions[1:])]

    run = trl_turns.trainer(
        tiny.model(), [{"task_source": tiny.REFERENCE}], Correct(), turns=1, tokenizer=tiny.tokenizer(),
        output_dir=str(tmp_path), per_device_train_batch_size=2, num_generations=2, max_steps=1,
        use_cpu=True, bf16=False, report_to="none", save_strategy="no", max_completion_length=20,
        disable_tqdm=True, gradient_checkpointing=False, logging_steps=1,
    )  # fmt: skip
    run.train()
    logged = next(e for e in run.state.log_history if "assay/trained_tokens" in e)
    # One turn was correct, but its own kernels took a tenth of the time; the other has no verdict.
    assert logged["assay/trained_tokens"] == 0
    assert logged["coverage/coverage_rs_correct_only_masked_fraction"] == 1.0
    assert logged["rewards/total/mean"] == pytest.approx((0.5 + 1.0 + 0.05) / 2)


@pytest.mark.filterwarnings("ignore")
def test_rejection_and_coverage_mask_tokens(tmp_path, monkeypatch):
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    options = TurnOptions(
        mismatch={"rejection": "geometric", "lower": 0.5, "upper": 2.0, "veto": 1e-4},
        coverage={"threshold": 0.5, "width": 0.0},
    )
    # Two passes over the samples make TRL recompute the probabilities they were sampled with.
    run = trainer(tmp_path, options, num_iterations=2, max_steps=2)
    run.train()
    _, mask = expected(1.0)
    out = rollout.last
    for i, spans in enumerate(out["turn_spans"]):
        for (start, end), correct, coverage in zip(
            spans, out["turn_correct"][i], out["turn_coverage"][i]
        ):
            if correct and coverage < 0.5:
                mask[i, start:end] = 0
    np.testing.assert_array_equal(run.recorded["tool_mask"].numpy(), mask)
    logged = [entry for entry in run.state.log_history if "mismatch/kl" in entry]
    assert logged and abs(logged[0]["mismatch/kl"]) < 1e-3, "one model, two code paths"
    with pytest.raises(ValueError, match="mismatch correction needs old_per_token_logps"):
        trainer(tmp_path, options).train()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("missing, said", [
    ("turn_spans", "rollout_func must return turn_spans"),
    ("turn_coverage", "coverage sampling needs turn_coverage from rollout_func"),
])  # fmt: skip
def test_needs_turns(tmp_path, monkeypatch, missing, said):
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    run = trainer(tmp_path, TurnOptions(coverage={}))
    run.rollout_func = lambda prompts, t: {k: v for k, v in rollout(prompts, t).items() if k != missing}
    with pytest.raises(ValueError, match=said):
        run.train()


def test_agrees_with_trls_rloo_where_they_coincide():
    """TRL's RLOO baseline, as its trainer computes it: one turn, no missing reward."""
    import inspect

    from trl.trainer.rloo_trainer import RLOOTrainer

    source = inspect.getsource(RLOOTrainer._generate_and_score_completions)
    start = source.index("scorable_counts = ")
    end = source.index("# Normalize advantages")
    lines = source[start:end].rstrip().splitlines()
    indent = len(lines[1]) - len(lines[1].lstrip())
    code = "\n".join([lines[0]] + [line[indent:] for line in lines[1:]])
    rewards = torch.rand(4 * SAMPLES, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    scope = {"rewards": rewards, "grouped_rewards": rewards.view(-1, SAMPLES),
             "num_generations": SAMPLES, "torch": torch}  # fmt: skip
    exec(code, scope)  # noqa: S102  the installed trainer's own lines
    n = np.arange(len(rewards))
    ours = rl.advantages(
        "trloo", group=n // SAMPLES, trajectory=n, turn=np.ones_like(n), reward=rewards
    )
    np.testing.assert_allclose(ours.advantage, scope["advantages"].numpy(), rtol=1e-12, atol=1e-12)
