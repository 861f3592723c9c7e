"""One real optimisation step through TRL on the CPU: a tiny random Qwen2 model, eight conversations of
three turns, an in-process evaluator."""

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
    """The in-process evaluator: how many tokens of the turn are an 'a' or a 'b'; none: it failed."""
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
def test_needs_turns(tmp_path, monkeypatch):
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    run = trainer(tmp_path, TurnOptions())
    run.rollout_func = lambda prompts, t: {
        k: v for k, v in rollout(prompts, t).items() if k != "turn_spans"
    }
    with pytest.raises(ValueError, match="rollout_func must return turn_spans"):
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
