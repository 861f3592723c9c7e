"""The adapters against the real packages where they are installed, and what they say where not."""

import asyncio
import importlib
import importlib.metadata
import os
import pathlib
import sys
import warnings
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from batches import dense, ragged

import assay.rl as rl
from assay.integrations import _engine, turn_rows

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/rl"
ENGINE_MODULES = {
    "verl": "verl.trainer.ppo.core_algos",
    "skyrl": "skyrl.backends.skyrl_train.utils.ppo_utils",
}


def installed(package):
    """With what it needs: a package that cannot be imported here counts as not there."""
    try:
        importlib.metadata.version(package)
        if package in ENGINE_MODULES:
            importlib.import_module(ENGINE_MODULES[package])
    except Exception:  # noqa: BLE001  whatever an engine raises on import
        return False
    return True


def test_missing_engine_says_how_to_get_it():
    with pytest.raises(ImportError, match=r"pip install 'no-such-engine==1.2.3'"):
        _engine.require("no-such-engine", "no_such_engine", "1.2.3")


def test_other_version_warns_and_missing_module_says_so():
    with pytest.warns(UserWarning, match="tested with 0.0.1"):
        _engine.require("numpy", "numpy", "0.0.1")
    found = importlib.metadata.version("numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _engine.require("numpy", "numpy", found)
        with pytest.raises(ImportError, match="has no usable numpy.nowhere"):
            _engine.require("numpy", "numpy.nowhere", found)


@pytest.mark.parametrize("engine", ["verl", "trl", "skyrl"])
def test_adapters_of_engines_that_are_not_there(engine):
    if installed(engine):
        pytest.skip(f"{engine} is installed")
    with pytest.raises(ImportError, match=f"{engine}.*(is not installed: pip install|has no usable)"):
        importlib.import_module(f"assay.integrations.{engine}")


def rows(seed):
    """Row-per-turn tensors with encoded identifiers, and the reference batch."""
    d = dense(seed)
    r = ragged(d, seed)
    reward = torch.zeros(d.mask.shape, dtype=torch.float64)
    reward[:, 0] = d.reward
    uid = np.array([
        turn_rows.encode(f"p{g}", t, k, void=bool(real and not keep))
        for g, t, k, real, keep in zip(d.group, d.trajectory, d.turn, d.real, d.keep)
    ])  # fmt: skip
    return d, r, reward, uid


@pytest.mark.parametrize("name", turn_rows.NAMES)
def test_row_estimators_are_the_librarys(name):
    d, r, reward, uid = rows(1)
    a, g = turn_rows.estimator(name)(reward, d.mask, uid, config={"gamma": 0.5})
    want = rl.advantages(name, batch=r.batch, gamma=0.5)
    m = d.mask[r.rows]
    torch.testing.assert_close(a[r.rows], torch.tensor(want.advantage)[:, None] * m, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(g[r.rows], torch.tensor(want.value)[:, None] * m, rtol=1e-12, atol=1e-12)


def test_plain_identifiers_are_prompts():
    reward = torch.tensor([[1.0], [0.0], [3.0]])
    a, _ = turn_rows.estimator("trloo")(reward, torch.ones(3, 1), np.array(["p", "p", "q"]))
    assert a.flatten().tolist() == [1.0, -1.0, 3.0]


@pytest.mark.skipif(not installed("verl"), reason="verl is not installed: its adapter is NOT tested")
class TestVerl:
    @pytest.fixture
    def adapter(self):
        return importlib.import_module("assay.integrations.verl")

    def test_registered_estimators_run_through_verl(self, adapter):
        from verl.trainer.ppo import core_algos

        names = adapter.register()
        assert adapter.register() == names
        d, r, reward, uid = rows(2)
        function = core_algos.get_adv_estimator_fn("assay_trloo")
        a, _ = function(
            token_level_rewards=reward, response_mask=d.mask, index=uid, config={"gamma": 1.0}
        )
        want = torch.tensor(rl.advantages("trloo", batch=r.batch).advantage)[:, None]
        torch.testing.assert_close(a[r.rows], want * d.mask[r.rows], rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("builtin", ["rloo", "grpo", "rloo_vectorized"])
    def test_verls_own_estimators_under_uid_and_turn(self, adapter, builtin):
        """TRLOO is verl's RLOO once returns are in the rewards and uid#turn is the group."""
        from verl.trainer.ppo import core_algos

        d = dense(4)
        d.keep = d.real.double()
        r = ragged(d, 4)
        g = rl.returns(r.batch)
        uid = np.array([f"{a}#{t}" for a, t in zip(r.batch.group, r.batch.turn)])
        reward = torch.tensor(g)[:, None].clone()
        ones = torch.ones_like(reward)
        keywords = {"norm_adv_by_std_in_grpo": False} if builtin == "grpo" else {}
        a, _ = core_algos.get_adv_estimator_fn(builtin)(reward, ones, uid, **keywords)
        # rloo_vectorized gives a lone sample 0, the others its own value.
        single = "zero" if builtin == "rloo_vectorized" else "raw"
        name = "grpo" if builtin == "grpo" else "trloo"
        want = rl.advantages(name, batch=r.batch, single=single).advantage
        np.testing.assert_allclose(a.flatten().numpy(), want, rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("level", ["token", "sequence", "geometric"])
    def test_rollout_correction_mapping(self, adapter, level):
        """verl's own rejection, configured by the mapping, keeps what ours keeps."""
        from verl.trainer.ppo import rollout_corr_helper
        from verl.trainer.config.algorithm import RolloutCorrectionConfig

        config = adapter.rollout_correction(level=level, lower=0.9, upper=1.2)
        assert RolloutCorrectionConfig(**config).rollout_rs == config["rollout_rs"]
        d = dense(5, noise=0.1)
        mask = d.mask * (d.mask.sum(1, keepdim=True) > 0)
        train = torch.where(mask > 0, d.train, 0.0)
        rollout = torch.where(mask > 0, d.rollout, 0.0)
        edited, _ = rollout_corr_helper.compute_rollout_rejection_mask(
            log_ratio=train - rollout, response_mask=mask, rollout_rs=config["rollout_rs"],
            rollout_rs_threshold=config["rollout_rs_threshold"],
        )  # fmt: skip
        n = torch.arange(len(mask))
        ours = rl.correct_mismatch(
            rl.Batch(group=n, trajectory=n, turn=torch.ones_like(n)), train, rollout, mask,
            rejection=level, lower=0.9, upper=1.2,
        )  # fmt: skip
        torch.testing.assert_close((ours.state & 1).double(), edited, rtol=0, atol=0)
        assert 0 < edited.sum() < mask.sum()

    def test_off_policy_metrics_agree(self, adapter):
        from verl.trainer.ppo import rollout_corr_helper

        d = dense(6)
        filled = d.mask.sum(1) > 0
        mask = d.mask[filled]
        train = torch.where(mask > 0, d.train[filled], 0.0)
        rollout = torch.where(mask > 0, d.rollout[filled], 0.0)
        theirs = rollout_corr_helper.compute_offpolicy_metrics(train, rollout, mask)
        n = torch.arange(len(mask))
        ours = rl.correct_mismatch(
            rl.Batch(group=n, trajectory=n, turn=torch.ones_like(n)), train, rollout, mask
        ).metrics
        shared = set(ours) & set(theirs)
        assert {"kl", "k3_kl", "chi2_token", "chi2_seq", "training_ppl", "rollout_ppl"} <= shared
        for name in shared:
            # verl adds 1e-8 to its denominators.
            assert ours[name] == pytest.approx(float(theirs[name]), rel=1e-7, abs=1e-9), name

    def test_data_proto(self, adapter):
        from verl import DataProto

        d, r, _, uid = rows(7)
        clean = lambda x: torch.where(d.mask > 0, x, 0.0).float()  # noqa: E731
        data = DataProto.from_dict(
            tensors={
                "old_log_probs": clean(d.train), "rollout_log_probs": clean(d.rollout),
                "response_mask": d.mask.long(),
            },
            non_tensors={"uid": uid},
        )  # fmt: skip
        metrics = adapter.correct_mismatch(
            data, rejection="geometric", lower=0.98, upper=1.02, veto=1e-4, importance="token"
        )
        want = rl.correct_mismatch(
            r.batch, r.tokens(clean(d.train)), r.tokens(clean(d.rollout)), r.mask, offsets=r.offsets,
            rejection="geometric", lower=0.98, upper=1.02, veto=1e-4,
        )  # fmt: skip
        got = data.batch["response_mask"].numpy()
        np.testing.assert_array_equal(got, r.to_dense(want.state & 1, got.shape))
        assert metrics["mismatch/kl"] == pytest.approx(want.metrics["kl"], rel=1e-12)
        assert data.batch["rollout_is_weights"].shape == d.mask.shape

    def test_example_configuration_is_the_mapping(self, adapter):
        from omegaconf import OmegaConf

        config = OmegaConf.load(EXAMPLES / "verl.yaml")
        example = OmegaConf.to_container(config.algorithm.rollout_correction)
        assert example == adapter.rollout_correction()
        assert config.algorithm.adv_estimator in adapter.register()

    def test_what_verl_has_not(self, adapter):
        with pytest.raises(ValueError, match="no token veto"):
            adapter.rollout_correction(veto=1e-4)
        with pytest.raises(ValueError, match="no level 'turn'"):
            adapter.rollout_correction(level="turn")


@pytest.mark.skipif(not installed("skyrl"), reason="SkyRL is not installed: its adapter is NOT tested")
class TestSkyrl:
    def test_registered_estimators_run_through_skyrl(self):
        adapter = importlib.import_module("assay.integrations.skyrl")
        from skyrl.backends.skyrl_train.utils import ppo_utils

        assert adapter.register() == adapter.register()
        d, r, reward, uid = rows(3)
        a, _ = ppo_utils.compute_advantages_and_returns(
            reward, d.mask, uid, "assay_trloo", config=None, gamma=1.0
        )
        want = torch.tensor(rl.advantages("trloo", batch=r.batch).advantage)[:, None]
        torch.testing.assert_close(a[r.rows], want * d.mask[r.rows], rtol=1e-12, atol=1e-12)


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


def test_prime_rl_loss(monkeypatch):
    import sys
    import types

    from assay.integrations import prime_rl

    inputs = SimpleNamespace(
        trainer_logprobs=torch.tensor([-1.0, -0.5, -2.0], requires_grad=True),
        inference_logprobs=torch.tensor([-1.0005, -0.4995, -2.0]),
        advantages=torch.tensor([0.5, 0.5, -0.25]),
        loss_mask=torch.tensor([True, True, False]),
    )
    with pytest.raises(ImportError, match="runs inside its trainer"):
        prime_rl.loss(inputs)
    for name in ("prime_rl", "prime_rl.trainer", "prime_rl.trainer.rl", "prime_rl.trainer.rl.loss"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["prime_rl.trainer.rl.loss"].LossOutputs = SimpleNamespace
    out = prime_rl.loss(inputs)
    out.loss.backward()
    q = torch.exp(inputs.trainer_logprobs.detach() - inputs.inference_logprobs)
    want = -(inputs.advantages * q * inputs.loss_mask)
    torch.testing.assert_close(out.loss.detach(), want.sum())
    torch.testing.assert_close(inputs.trainer_logprobs.grad, want)
    assert prime_rl.loss(inputs, upper=1.00001, lower=1.000001).loss == 0
    assert prime_rl.advantages([1.0, 0.0]) == [1.0, -1.0]


SLIME = os.environ.get("ASSAY_SLIME_SOURCE")  # a checkout: it is not on the index
PRIME_RL = os.environ.get("ASSAY_PRIME_RL_SOURCE")


def slime_post(monkeypatch, replies):
    """slime's own types where its sources are given, else modules of the same names; its HTTP client
    answers as SGLang's router does."""
    import types

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
        http_utils = importlib.import_module("slime.utils.http_utils")
        processing = importlib.import_module("slime.utils.processing_utils")
        from slime.utils.types import Sample as Real

        kind = Real
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


def test_prime_rl_credits_turns():
    from assay.integrations import prime_rl

    def trace(rewards, keep=None, masks=None, reward=0.0):
        nodes = [SimpleNamespace(mask=[], advantages=None)]
        for mask in masks or [[False, True, True]] * len(rewards or [0]):
            nodes.append(SimpleNamespace(mask=mask, advantages=None))
        info = {} if rewards is None else {"assay": {"rewards": rewards, "keep": keep or [True] * len(rewards)}}
        return SimpleNamespace(nodes=nodes, info=info, reward=reward)

    traces = [trace([0.0, 1.0]), trace([2.0, 0.0], [True, False]), trace([0.5])]
    prime_rl.turn_advantages(traces)
    want = rl.advantages("trloo", group=[0] * 5, trajectory=[0, 0, 1, 1, 2], turn=[1, 2, 1, 2, 1],
                         reward=[0.0, 1.0, 2.0, 0.0, 0.5], keep=[1, 1, 1, 0, 1]).advantage  # fmt: skip
    got = [n.advantages for t in traces for n in t.nodes if n.mask]
    assert got == [[a, a] for a in want.tolist()]
    unjudged = trace([1.0], masks=[[True], [True, True]])
    plain = trace(None, masks=[[True], [True]], reward=3.0)
    prime_rl.turn_advantages([unjudged, plain])
    assert [n.advantages for n in unjudged.nodes[1:]] == [[-2.0], [0.0, 0.0]]
    assert [n.advantages for n in plain.nodes[1:]] == [[2.0], [2.0]]
    with pytest.raises(ImportError, match="runs in prime-rl's orchestrator"):
        prime_rl.install()


@pytest.mark.skipif(not PRIME_RL, reason="ASSAY_PRIME_RL_SOURCE names no checkout of prime-rl (it is not on the "
                    "index): its own loss module is NOT tested")  # fmt: skip
def test_prime_rls_own_loss_module(monkeypatch):
    """Its LossInputs and LossOutputs, and its way from the configuration to the function."""
    import tomllib

    for part in ("src", "packages/prime-rl-configs/src"):
        monkeypatch.syspath_prepend(os.path.join(PRIME_RL, part))
    loss = importlib.import_module("prime_rl.trainer.rl.loss")
    from prime_rl.configs.trainer import CustomLossConfig

    example = tomllib.loads((EXAMPLES / "prime_rl.toml").read_text())["trainer"]["loss"]
    function = loss.setup_rl_loss_fn(CustomLossConfig(**example))
    inputs = loss.LossInputs(
        trainer_logprobs=torch.tensor([-1.0, -0.5, -2.0], requires_grad=True),
        inference_logprobs=torch.tensor([-1.0005, -0.4995, -2.0]), ref_logprobs=None,
        advantages=torch.tensor([0.5, 0.5, -0.25]), loss_mask=torch.tensor([True, True, False]),
    )  # fmt: skip
    out = function(inputs)
    assert isinstance(out, loss.LossOutputs)
    out.loss.backward()
    q = torch.exp(inputs.trainer_logprobs.detach() - inputs.inference_logprobs)
    torch.testing.assert_close(out.loss.detach(), -(inputs.advantages * q * inputs.loss_mask).sum())


@pytest.fixture
def prime_rl_source(monkeypatch):
    if not PRIME_RL:
        pytest.skip("ASSAY_PRIME_RL_SOURCE names no checkout of prime-rl: its orchestrator is NOT tested")
    pytest.importorskip("verifiers.v1", reason="verifiers is not installed: prime-rl's orchestrator is NOT tested")
    for part in ("src", "packages/prime-rl-configs/src"):
        monkeypatch.syspath_prepend(os.path.join(PRIME_RL, part))
    monkeypatch.syspath_prepend(str(EXAMPLES))


def test_prime_rls_configuration_takes_the_example(prime_rl_source):
    """Through its whole configuration; the environment is resolved by verifiers to ours."""
    import tomllib

    from prime_rl.configs.rl import RLConfig

    from assay.integrations.verifiers import KernelEnvConfig

    config = RLConfig.model_validate(tomllib.loads((EXAMPLES / "prime_rl.toml").read_text()))
    (source,) = config.orchestrator.train.source
    assert isinstance(source.env, KernelEnvConfig)
    assert (source.env.taskset.task.evaluator, source.env.taskset.task.turns) == ("http://127.0.0.1:8000", 3)
    assert config.trainer.loss.import_path == "assay.integrations.prime_rl.loss"


def test_prime_rls_own_orchestrator_credits_turns(prime_rl_source):
    """install() behind its registry; its own grpo then scores episodes turn by turn."""
    from prime_rl.configs.algorithm import GRPOAlgoConfig
    from prime_rl.orchestrator import algo

    from assay.integrations import prime_rl

    stock = algo.ALGORITHM_CLASSES["grpo"]
    try:
        prime_rl.install()
        assert prime_rl.install().assay_parent is stock, "installed once, however often"
        algorithm = algo.build_algorithm(GRPOAlgoConfig(), None)

        def episode(rewards):
            nodes = [SimpleNamespace(mask=[], advantages=None)]
            nodes += [SimpleNamespace(mask=[False, True], advantages=None) for _ in rewards]
            trace = SimpleNamespace(
                nodes=nodes, info={"assay": {"rewards": rewards, "keep": [True] * len(rewards)}}, reward=0.0,
                has_error=False, agent=SimpleNamespace(trainable=True),
            )  # fmt: skip
            return SimpleNamespace(traces=[trace])

        episodes = [episode([0.0, 1.0]), episode([2.0, 0.5])]
        asyncio.run(algorithm.finalize_group(episodes))
        got = [n.advantages for e in episodes for n in e.traces[0].nodes if n.mask]
    finally:
        algo.ALGORITHM_CLASSES["grpo"] = stock
    want = rl.advantages("trloo", group=[0] * 4, trajectory=[0, 0, 1, 1], turn=[1, 2, 1, 2],
                         reward=[0.0, 1.0, 2.0, 0.5]).advantage  # fmt: skip
    assert got == [[a] for a in want.tolist()]
