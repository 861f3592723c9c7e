"""The adapters against the real packages where they are installed, and what they say where not."""

import importlib
import importlib.metadata
import pathlib
import warnings

import engines
import numpy as np
import pytest
import torch
from batches import dense, ragged

import assay.rl as rl
from assay.integrations import _engine, turn_rows

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/rl"
ENGINE_MODULES = {
    "verl": "verl.trainer.ppo.core_algos",
    "trl": "trl",
    "skyrl": "skyrl.backends.skyrl_train.utils.ppo_utils",
}
WHY_NOT = {engine: engines.why_not(module) for engine, module in ENGINE_MODULES.items()}


def installed(package):
    """With what it needs: a package that cannot be imported here counts as not there."""
    return not WHY_NOT[package]


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


@pytest.mark.skipif(not installed("verl"), reason=f"{WHY_NOT['verl']}: its adapter is NOT tested")
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


@pytest.mark.skipif(not installed("skyrl"), reason=f"{WHY_NOT['skyrl']}: its adapter is NOT tested")
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
