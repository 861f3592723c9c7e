"""verl's agent loop and reward manager through verl's own worker, storage format and trainer functions,
judged by assay eval and by assay serve. Only the inference server (a tiny random Qwen2 that is told what to answer) and
the storage behind TransferQueue are ours."""

import asyncio
import importlib
import os
import pathlib

import numpy as np
import pytest
import torch

import assay.rl as rl
from assay.integrations import evaluator as ev

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/rl"


def have_verl():
    try:
        importlib.import_module("verl.experimental.agent_loop.agent_loop")
        importlib.import_module("hydra")
    except Exception:  # noqa: BLE001  whatever an engine raises on import
        return False
    return True


if not have_verl():
    pytest.skip("verl is not installed: its agent loop is NOT tested", allow_module_level=True)

import tiny  # noqa: E402
from hydra import compose, initialize_config_dir  # noqa: E402
from omegaconf import OmegaConf, open_dict  # noqa: E402
from verl import DataProto  # noqa: E402
from verl.trainer.ppo.v1 import agent_loop_tq  # noqa: E402
from verl.workers.rollout.replica import TokenOutput  # noqa: E402

import assay.integrations.verl as assay_verl  # noqa: E402

PROMPT_LENGTH, RESPONSE_LENGTH = 4096, 6000


class Inference:
    """Answers what the script of the prompt's sample says, with the tiny model's probabilities."""

    def __init__(self, tok, script, with_log_probs=True):
        self.tok, self.lm, self.script = tok, tiny.model(), script
        self.with_log_probs, self.turn_of, self.requests = with_log_probs, {}, []

    async def generate(self, request_id, *, prompt_ids, sampling_params, **_):
        self.requests.append((request_id, list(prompt_ids), dict(sampling_params)))
        turn = self.turn_of[request_id] = self.turn_of.get(request_id, -1) + 1
        sample = list(self.turn_of).index(request_id)
        text = self.script[sample % len(self.script)][turn]
        ids = self.tok.encode(text, add_special_tokens=False) + [self.tok.eos_token_id] if text else []
        ids = ids[: sampling_params["max_tokens"]]
        logps = tiny.log_probs(self.lm, prompt_ids, ids) if self.with_log_probs and ids else None
        return TokenOutput(token_ids=ids, log_probs=logps, extra_fields={
            "min_global_steps": 5 + turn, "max_global_steps": 5 + turn})  # fmt: skip


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    tiny.tokenizer().save_pretrained(folder)
    tiny.model().save_pretrained(folder)
    return folder


def configuration(model_dir, tmp_path, evaluator, *overrides):
    """verl's own configuration with the example's settings on top."""
    import verl

    folder = pathlib.Path(verl.__file__).parent / "trainer/config"
    with initialize_config_dir(config_dir=str(folder), version_base=None):
        config = compose(config_name="ppo_trainer", overrides=[
            f"actor_rollout_ref.model.path={model_dir}", f"data.max_prompt_length={PROMPT_LENGTH}",
            f"data.max_response_length={RESPONSE_LENGTH}", "actor_rollout_ref.rollout.name=vllm", *overrides,
        ])  # fmt: skip
    loops = OmegaConf.load(EXAMPLES / "verl_agent_loop.yaml")
    loops[0].evaluator = evaluator
    path = tmp_path / "loops.yaml"
    OmegaConf.save(loops, path)
    example = OmegaConf.load(EXAMPLES / "verl.yaml")
    example.actor_rollout_ref.rollout.agent.agent_loop_config_path = str(path)
    merged = OmegaConf.merge(config, example)  # in struct mode: a key verl does not know fails
    assert OmegaConf.is_struct(config)
    return merged


@pytest.fixture(params=["eval", "serve"])
def assay(request, assay_bin):
    """The evaluator's settings: the command, or a server of its own."""
    if request.param == "serve":
        return {"where": request.getfixturevalue("served")}
    return {"where": "command", "program": str(assay_bin), "python": os.environ["ASSAY_PYTHON"],
            "device": "cpu", "jobs": 2}  # fmt: skip


@pytest.fixture
def stored(monkeypatch):
    """What the worker hands to TransferQueue."""
    got = {}

    async def batch_put(keys, fields, tags, partition_id):
        for i, key in enumerate(keys):
            got[key] = (fields[i : i + 1], tags[i])

    async def put(key, partition_id, tag):
        assert tag["status"] in ("running", "finished"), tag

    monkeypatch.setattr(agent_loop_tq.tq, "init", lambda: None)
    monkeypatch.setattr(agent_loop_tq.tq, "async_kv_batch_put", batch_put)
    monkeypatch.setattr(agent_loop_tq.tq, "async_kv_put", put)
    return got


def play(worker, rows):
    """As AgentLoopWorkerTQ runs a prompt's samples, without the bookkeeping around it."""

    async def run():
        await asyncio.gather(*(
            worker._run_agent_loop(
                {"temperature": 1.0, "logprobs": True},
                trajectory={"step": 5, "sample_index": 0, "rollout_n": n, "validate": False},
                trace=False, session_id=n, global_steps=5, **row,
            )
            for n, row in enumerate(rows)
        ))  # fmt: skip

    asyncio.run(run())


def row(**more):
    return {
        "uid": "prompt", "agent_name": "assay", "raw_prompt": [{"role": "user", "content": "Write it."}],
        "reward_model": {"style": "rule", "ground_truth": tiny.REFERENCE}, "data_source": "cuda_llm",
    } | more  # fmt: skip


def worker_of(config, inference):
    kind = agent_loop_tq.AgentLoopWorkerTQ
    kind = getattr(kind, "__ray_metadata__", None) and kind.__ray_metadata__.modified_class or kind
    return kind(config, inference)


def test_three_turns_judged_by_assay_and_credited_by_verls_trainer(model_dir, tmp_path, assay, stored):
    """Four conversations of three turns: 12 real verdicts; verl's own advantage step over them."""
    good, wrong, broken = (tiny.answer(c) for c in (tiny.GOOD, tiny.WRONG, tiny.BROKEN))
    script = [[wrong, good, broken], [broken, wrong, good], [good, good, good], [wrong, wrong, wrong]]
    config = configuration(model_dir, tmp_path, assay)
    inference = Inference(tiny.tokenizer(), script)
    worker = worker_of(config, inference)
    play(worker, [row() for _ in script])

    assert len(stored) == 4
    order = [list(inference.turn_of).index(r) for r, _, _ in inference.requests]
    correct = {}
    for key, (fields, tags) in sorted(stored.items()):
        extra = fields["extra_fields"][0]
        extra = extra.data if hasattr(extra, "data") else extra
        correct[key] = extra["turn_correct"]
        assert tags["min_global_steps"] == 5 and tags["max_global_steps"] == 7
    want = [[t == good for t in turns] for turns in script]
    assert sorted(correct.values()) == sorted(want)
    assert sorted(order) == sorted(list(range(4)) * 3)
    # Every prompt extends what was generated before it, token by token.
    for request in inference.turn_of:
        prompts = [p for r, p, _ in inference.requests if r == request]
        assert all(b[: len(a)] == a for a, b in zip(prompts, prompts[1:]))

    # verl's trainer from here: padded tensors, then its advantage step with the registered estimator.
    from tensordict import TensorDict
    from verl.trainer.ppo.ray_trainer import compute_advantage

    keys = sorted(stored)
    pad = lambda name: torch.nn.utils.rnn.pad_sequence(  # noqa: E731
        [stored[k][0][name][0] for k in keys], batch_first=True
    )
    names = ("response_mask", "rm_scores", "rollout_log_probs", "responses")
    data = DataProto(batch=TensorDict({n: pad(n) for n in names}, batch_size=len(keys)))
    data.batch["token_level_rewards"] = data.batch["rm_scores"]
    data.non_tensor_batch["uid"] = np.array(["prompt"] * len(keys), dtype=object)
    assay_verl.register()
    estimator = config.algorithm.adv_estimator
    assert estimator == "assay_packed_trloo"
    data = compute_advantage(data, estimator, gamma=1.0, config=config.algorithm)

    flat = {k: [] for k in ("group", "trajectory", "turn", "reward", "keep")}
    dense, spans = np.zeros(data.batch["response_mask"].shape), []
    for i, key in enumerate(keys):
        extra = stored[key][0]["extra_fields"][0]
        extra = extra.data if hasattr(extra, "data") else extra
        for t, span in enumerate(extra["turn_spans"]):
            spans.append((i, *span))
            # Rewards hold a real speedup; verl carries them in float32.
            for name, value in (("group", 0), ("trajectory", i), ("turn", t + 1),
                                ("reward", np.float32(extra["turn_rewards"][t])),
                                ("keep", extra["turn_keep"][t])):  # fmt: skip
                flat[name].append(value)
    assert [k for k in flat["keep"]].count(False) == 1, "one failure after a success is void"
    assert len({r for r in flat["reward"]}) > 3, "real speedups differ"
    result = rl.advantages("trloo", **{k: np.array(v) for k, v in flat.items()})
    for (i, start, end), a in zip(spans, result.advantage):
        dense[i, start:end] = a
    mask = data.batch["response_mask"].numpy()
    np.testing.assert_allclose(data.batch["advantages"].numpy(), dense * mask, rtol=1e-6, atol=1e-6)
    assert np.abs(dense * mask).max() > 0.1
    # The mask covers the kept turns' own tokens and nothing else.
    own = np.zeros_like(mask)
    for (i, start, end), keep in zip(spans, flat["keep"]):
        own[i, start:end] = keep
    np.testing.assert_array_equal(mask, own)
    logps = data.batch["rollout_log_probs"].numpy()
    assert (logps[mask > 0] < 0).all()


class Fixed:
    """An evaluator whose verdicts are given."""

    batches = True

    def __init__(self, verdicts):
        self.verdicts = list(verdicts)

    def evaluate(self, submissions):
        return [self.verdicts.pop(0) for _ in submissions]


@pytest.fixture
def judged(monkeypatch):
    def use(*verdicts):
        monkeypatch.setattr(ev, "make_evaluator", lambda where, **_: Fixed(verdicts))
        ev._judges.clear()

    yield use
    ev._judges.clear()


def verdict(status):
    return {"status": status, "correct": status == "correct", "compiled": True, "feedback": status, "flags": [],
            "timing": {"speedup": None}}  # fmt: skip


def only(stored):
    ((fields, _),) = stored.values()
    extra = fields["extra_fields"][0]
    return fields, (extra.data if hasattr(extra, "data") else extra)


def test_an_infrastructure_fault_ends_the_conversation_and_trains_nothing(model_dir, tmp_path, stored, judged):
    judged(verdict("correct"), ev.unavailable("gone"))
    worker = worker_of(configuration(model_dir, tmp_path, {"where": "x"}), Inference(tiny.tokenizer(), [["a", "b", "c"]]))
    play(worker, [row()])
    fields, extra = only(stored)
    assert fields["response_mask"].sum() == 0 and len(extra["turn_rewards"]) == 2
    assert extra["reward_extra_info"]["masked"] == 1


def test_the_conversation_ends_where_the_row_is_full(model_dir, tmp_path, stored, judged):
    judged(*[verdict("incorrect")] * 3)
    script = [["x" * 10, "y" * (RESPONSE_LENGTH + 50), "never"]]
    inference = Inference(tiny.tokenizer(), script, with_log_probs=False)
    worker = worker_of(configuration(model_dir, tmp_path, {"where": "x"}), inference)
    play(worker, [row()])
    fields, extra = only(stored)
    assert len(inference.requests) == 2 and extra["reward_extra_info"]["exhausted"] == 1
    assert fields["responses"].shape[-1] == RESPONSE_LENGTH
    assert extra["turn_spans"][-1][1] == RESPONSE_LENGTH
    assert np.signbit(fields["rm_scores"].numpy()).sum() == 2, "two turns of reward 0"
    assert "rollout_log_probs" not in fields.keys()


def test_an_engine_without_an_answer_leaves_an_empty_row(model_dir, tmp_path, stored, judged):
    judged()
    worker = worker_of(configuration(model_dir, tmp_path, {"where": "x"}), Inference(tiny.tokenizer(), [[""]]))
    play(worker, [row()])
    fields, extra = only(stored)
    assert fields["response_mask"].tolist() == [[0]] and extra["turn_rewards"] == []
    assert not np.signbit(fields["rm_scores"].numpy()).any()


def test_a_row_without_a_task_says_so(model_dir, tmp_path, stored, judged):
    judged()
    worker = worker_of(configuration(model_dir, tmp_path, {"where": "x"}), Inference(tiny.tokenizer(), [["a"]]))
    with pytest.raises(ValueError, match="names no task"):
        play(worker, [row(reward_model=None)])


def test_the_reward_manager_through_verls_loader(model_dir, tmp_path, assay):
    """Registered by name and loaded from the module's path, as the example says; judges for real."""
    from verl.trainer.ppo.reward import load_reward_manager

    config = configuration(model_dir, tmp_path, assay)
    with open_dict(config):
        config.reward.assay = {"evaluator": assay, "options": {"time": False}}
    tok = tiny.tokenizer()
    manager = load_reward_manager(config, tok)
    assert type(manager).__name__ == "AssayRewardManager"
    answers = [tok.encode(tiny.answer(c), add_special_tokens=False) for c in (tiny.GOOD, tiny.WRONG)]
    width = max(map(len, answers))
    pad = lambda a, x: a + [x] * (width - len(a))  # noqa: E731
    data = DataProto.from_dict(
        tensors={
            "prompts": torch.full((2, 3), 5),
            "responses": torch.tensor([pad(a, tok.pad_token_id) for a in answers]),
            "attention_mask": torch.tensor([[1, 1, 1, *pad([1] * len(a), 0)] for a in answers]),
        },
        non_tensors={
            "reward_model": np.array([{"ground_truth": tiny.REFERENCE}] * 2, dtype=object),
            "data_source": np.array(["cuda_llm"] * 2, dtype=object),
        },
    )

    async def both():
        return await asyncio.gather(*(manager.run_single(data[i : i + 1]) for i in range(2)))

    right, wrong = asyncio.run(both())
    assert right["reward_score"] == 0.5 and right["reward_extra_info"]["correct_last"] == 1
    assert wrong["reward_score"] == 0.0 and wrong["reward_extra_info"]["correct_last"] == 0
    assert right["reward_extra_info"].keys() == wrong["reward_extra_info"].keys()


def test_what_a_packed_row_cannot_hold(model_dir, tmp_path, stored):
    config = configuration(model_dir, tmp_path, {"where": "x"})
    path = config.actor_rollout_ref.rollout.agent.agent_loop_config_path
    loops = OmegaConf.load(path)
    loops[0].conversation = {"recent": 2}
    OmegaConf.save(loops, path)
    with pytest.raises(Exception, match="needs a row per turn"):
        play(worker_of(config, Inference(tiny.tokenizer(), [["a"]])), [row()])
