"""prime-rl's loss and orchestrator hooks, against its own modules where a checkout of it is named."""

import asyncio
import os
import pathlib
import sys
import types
from types import SimpleNamespace

import engines
import pytest
import torch

import assay.rl as rl

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/rl"
PRIME_RL = os.environ.get("ASSAY_PRIME_RL_SOURCE")  # a checkout: it is not on the index


def test_prime_rl_loss(monkeypatch):
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
    loss = engines.module("prime_rl.trainer.rl.loss", "prime-rl's own loss module is")
    configs = engines.module("prime_rl.configs.trainer", "prime-rl's own loss module is")
    example = tomllib.loads((EXAMPLES / "prime_rl.toml").read_text())["trainer"]["loss"]
    function = loss.setup_rl_loss_fn(configs.CustomLossConfig(**example))
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
    for part in ("src", "packages/prime-rl-configs/src"):
        monkeypatch.syspath_prepend(os.path.join(PRIME_RL, part))
    monkeypatch.syspath_prepend(str(EXAMPLES))
    for name in ("verifiers.v1", "prime_rl.configs.rl", "prime_rl.orchestrator.algo"):
        engines.module(name, "prime-rl's orchestrator is")


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
