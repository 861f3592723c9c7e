"""Agreement with the independent PyTorch implementation, on random ragged batches, to 1e-12."""

import numpy as np
import pytest
import reference as ref
import torch
from batches import dense, ragged

import assay.rl as rl

SEEDS = range(12)
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


def close(got, want, what=""):
    want = want.numpy() if isinstance(want, torch.Tensor) else want
    np.testing.assert_allclose(got, want, **TOLERANCE, err_msg=what)


def at(r, d, values):
    """Dense reference values at the ragged rows."""
    return values.numpy()[r.rows]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("gamma", [1.0, 0.4])
def test_turn_estimators(seed, gamma):
    d = dense(seed)
    r = ragged(d, seed)
    g = ref.turn_returns(d.reward, d.keep, d.turns, gamma)
    by_turn, by_group = ref.cells(d.group, d.turn), ref.cells(d.group)
    reward = d.reward * d.keep
    expected = {
        "trloo": ref.leave_one_out(g, by_turn, d.member),
        "grpo": ref.group_mean(g, by_turn, d.member),
        "turn_independent_grpo": ref.group_mean(reward, by_group, d.member),
        "erloo": ref.leave_one_out(g, by_group, d.member),
        "erloo_norm": ref.leave_one_out_norm(g, by_group, d.member),
        "reinforce": ref.whiten_batch(g, d.member),
    }
    close(rl.returns(r.batch, gamma=gamma), at(r, d, g))
    for name, want in expected.items():
        result = rl.advantages(name, batch=r.batch, gamma=gamma)
        # erloo_norm divides by deviations as small as 1e-8, which amplifies the last bit.
        got, want = result.advantage, at(r, d, want)
        if name == "erloo_norm":
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
        else:
            close(got, want, name)


@pytest.mark.parametrize("seed", SEEDS)
def test_trajectory_estimators(seed):
    d = dense(seed)
    r = ragged(d, seed)
    last = (d.reward * d.keep)[d.turns - 1 :: d.turns]
    total = (d.reward * d.keep).reshape(-1, d.turns).sum(1)
    group = d.group[:: d.turns]
    for name, scale in (("grpo_std", "std"), ("rloo", "rloo"), ("dr_grpo", "none")):
        want = ref.trajectory_advantage(last, group, scale).repeat_interleave(d.turns)
        close(rl.advantages(name, batch=r.batch).advantage, at(r, d, want), name)
    greedy = torch.rand(len(d.reward), dtype=torch.float64)
    want = (last - greedy[d.turns - 1 :: d.turns]).repeat_interleave(d.turns)
    got = rl.advantages("remax", batch=r.batch, baseline=greedy.numpy()[r.rows]).advantage
    close(got, at(r, d, want), "remax")

    w = torch.rand(len(d.reward), dtype=torch.float64) * d.real
    kept_w = w * d.keep  # void turns have no weight, whatever is given
    totals_w = kept_w.reshape(-1, d.turns).sum(1)
    member = d.keep[d.turns - 1 :: d.turns].bool()
    want = ref.weighted_mean_baseline(total, totals_w, ref.cells(group), member)
    got = rl.advantages("optimal_baseline", batch=r.batch, weight=w.numpy()[r.rows]).advantage
    close(got, at(r, d, want.repeat_interleave(d.turns)), "optimal_baseline")

    g = ref.turn_returns(d.reward, d.keep, d.turns, 1.0)
    cumulative = kept_w.reshape(-1, d.turns).cumsum(1).reshape(-1)
    want = ref.weighted_mean_baseline(g, cumulative, ref.cells(d.group, d.turn), d.member)
    got = rl.advantages("turn_optimal_baseline", batch=r.batch, weight=w.numpy()[r.rows]).advantage
    close(got, at(r, d, want), "turn_optimal_baseline")


@pytest.mark.parametrize("seed", SEEDS)
def test_token_optimal_baseline(seed):
    d = dense(seed)
    r = ragged(d, seed)
    shape = tuple(d.mask.shape)
    old = torch.where(d.mask.bool(), d.train, 0.0)
    squares = torch.rand(shape, dtype=torch.float64)
    w = (1 - 2 * old.exp() + squares) * d.population
    g = ref.turn_returns(d.reward, d.keep, d.turns, 1.0)
    before = w.sum(1).reshape(-1, d.turns).cumsum(1).reshape(-1) - w.sum(1)
    cumulative = (before[:, None] + w.cumsum(1)) * d.population
    cell = ref.cells(d.group, d.turn)
    want = torch.zeros(shape, dtype=torch.float64)
    for c in range(int(cell.max()) + 1):
        rows = torch.nonzero((cell == c) & d.member).flatten()
        if len(rows) == 0:
            continue
        b = (g[rows, None] * cumulative[rows]).sum(0) / (cumulative[rows].sum(0) + 1e-8)
        want[rows] = (g[rows, None] - (b if len(rows) > 1 else 0.0)) * d.population[rows]
    norms = rl.score_norms(r.mask, r.tokens(d.train), r.tokens(squares), offsets=r.offsets)
    close(norms, r.tokens(w))
    got = rl.token_optimal_baseline(
        r.batch, rl.returns(r.batch), r.mask, norms, offsets=r.offsets
    )
    close(r.to_dense(got, shape), want)
    close(rl.sum_per_row(norms, offsets=r.offsets), at(r, d, w.sum(1)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("level", ["token", "turn", "turn_geo", "sequence", "geometric"])
def test_mismatch(seed, level):
    d = dense(seed, noise=0.3)
    r = ragged(d, seed)
    lower, upper, veto = 0.8, 1.3, 0.5
    keep, want = ref.mismatch(d.train, d.rollout, d.population, d.turns, level, lower, upper, veto)
    got = rl.correct_mismatch(
        r.batch, r.tokens(d.train), r.tokens(d.rollout), r.mask, offsets=r.offsets,
        rejection=level, lower=lower, upper=upper, veto=veto,
    )  # fmt: skip
    trained = r.to_dense(got.state, tuple(d.mask.shape)) & rl.TRAINED
    np.testing.assert_array_equal(trained, (keep * d.population).numpy())
    assert set(want) == set(got.metrics)
    for name, value in want.items():
        close(got.metrics[name], float(value), name)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("level", ["token", "turn", "sequence"])
def test_importance_weights(seed, level):
    d = dense(seed, noise=0.6)
    r = ragged(d, seed)
    train = torch.where(d.mask.bool(), d.train, 0.0)
    log_rho = train - torch.where(d.mask.bool(), d.rollout, 0.0)
    log_weight = ref.level_log_weight(log_rho, d.population, d.turns, level)
    want = torch.exp(log_weight.clamp(-20, 20)).clamp(max=1.7) * d.population
    got = rl.correct_mismatch(
        r.batch, r.tokens(d.train), r.tokens(d.rollout), r.mask, offsets=r.offsets,
        importance=level, importance_upper=1.7,
    )  # fmt: skip
    close(got.weights, r.tokens(want))
    metrics = ref.weight_metrics("rollout_is_", log_weight, d.population, 1 / 1.7, 1.7)
    for name, value in metrics.items():
        close(got.metrics[name], float(value), name)


@pytest.mark.parametrize("scope", ["turn", "suffix", "trajectory"])
@pytest.mark.parametrize("seed", SEEDS)
def test_veto_scopes(seed, scope):
    d = dense(seed, noise=0.3)
    r = ragged(d, seed)
    log_rho = torch.where(d.population.bool(), d.train - d.rollout, 0.0)
    bad = ref.spread((log_rho < np.log(0.6)).any(1), d.turns, scope)
    got = rl.correct_mismatch(
        r.batch, r.tokens(d.train), r.tokens(d.rollout), r.mask, offsets=r.offsets, veto=0.6,
        veto_scope=scope,
    )  # fmt: skip
    want = d.population * (~bad)[:, None]
    np.testing.assert_array_equal(
        r.to_dense(got.state, tuple(d.mask.shape)) & rl.TRAINED, want.numpy()
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_coverage_sampling(seed):
    d = dense(seed)
    r = ragged(d, seed)
    want = ref.keep_probability(d.coverage, d.correct, 0.3, 0.1)
    got = rl.sample_by_coverage(
        r.batch, r.mask, correct=d.correct.numpy()[r.rows], coverage=d.coverage.numpy()[r.rows],
        offsets=r.offsets, seed=5, step=9,
    )  # fmt: skip
    close(got.keep_probability, at(r, d, want))
    for i, row in enumerate(r.rows):
        draw = rl._core.uniform_at(5, 9, int(r.batch.trajectory[i]), int(r.batch.turn[i]))
        assert got.rejected[i] == (draw >= float(want[row]))
    # Geometric: mean of the logs over turns with trained tokens.
    got = rl.sample_by_coverage(
        r.batch, r.mask, correct=d.correct.numpy()[r.rows], coverage=d.coverage.numpy()[r.rows],
        offsets=r.offsets, mode="geometric",
    )  # fmt: skip
    valid = (d.population.sum(1) > 0).double()
    logs = torch.log(d.coverage.clamp(min=1e-8)) * valid
    n = valid.reshape(-1, d.turns).sum(1)
    mean = torch.exp(logs.reshape(-1, d.turns).sum(1) / n.clamp(min=1))
    mean = torch.where(n > 0, mean, 0.0).repeat_interleave(d.turns)
    close(got.keep_probability, at(r, d, ref.keep_probability(mean, d.correct, 0.3, 0.1)))


AGGREGATIONS = [
    "token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm",
    "seq-sum-no-norm",
]  # fmt: skip


def loss_inputs(seed):
    d = dense(seed)
    r = ragged(d, seed)
    g = torch.Generator().manual_seed(seed + 1000)
    shape = tuple(d.mask.shape)
    tensors = {
        "logp": torch.where(d.mask.bool(), d.train, 0.0).requires_grad_(),
        "old": torch.where(d.mask.bool(), d.train, 0.0)
        + torch.randn(shape, generator=g, dtype=torch.float64) * 0.5,
        "reference": -torch.rand(shape, generator=g, dtype=torch.float64) * 3,
        "weights": torch.rand(shape, generator=g, dtype=torch.float64) * 2,
        "entropy": torch.rand(shape, generator=g, dtype=torch.float64),
        "advantage": torch.randn(shape[0], generator=g, dtype=torch.float64),
    }
    return d, r, tensors


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("seed", range(6))
def test_ppo_loss_and_gradient(seed, aggregation):
    d, r, t = loss_inputs(seed)
    mask = d.population
    loss = ref.ppo_terms(t["logp"], t["old"], t["advantage"][:, None], 0.2, 0.28, 3.0)
    risky = (t["old"] < np.log(0.1)) & (t["advantage"][:, None] < 0)
    loss = torch.where(risky, 0.0, loss) * t["weights"]
    floor = torch.quantile(t["entropy"][mask > 0], 0.2)
    kept = mask * (t["entropy"] > floor)
    norm = 12.0
    want = ref.aggregate(loss, kept, aggregation, norm) / 1000
    kl = ref.kl_terms(t["logp"], t["reference"], "low_var_kl")
    want = want + 0.3 * ref.aggregate(kl, kept, aggregation, norm) / 1000
    (gradient,) = torch.autograd.grad(want, t["logp"])
    got = rl.policy_loss(
        r.tokens(t["logp"].detach()), t["advantage"].numpy()[r.rows], r.mask,
        logp_old=r.tokens(t["old"]), offsets=r.offsets, weights=r.tokens(t["weights"]),
        entropy=r.tokens(t["entropy"]), entropy_quantile=0.2, risk_probability=0.1,
        logp_reference=r.tokens(t["reference"]), kl_coefficient=0.3, aggregation=aggregation,
        norm_length=norm, scale=1000,
    )  # fmt: skip
    close(got.value, float(want.detach()))
    close(r.to_dense(got.gradient, tuple(mask.shape)), gradient)


@pytest.mark.parametrize("kind", ["kl", "abs", "mse", "low_var_kl"])
def test_kl(kind):
    d, r, t = loss_inputs(3)
    terms = ref.kl_terms(t["logp"], t["reference"], kind) * d.population
    got = rl.kl_per_row(
        r.tokens(t["logp"].detach()), r.tokens(t["reference"]), r.mask, kind, offsets=r.offsets
    )
    close(got, at(r, d, terms.sum(1).detach()))
    want = ref.aggregate(terms, d.population, "token-mean")
    (gradient,) = torch.autograd.grad(want, t["logp"])
    loss = rl.policy_loss(
        r.tokens(t["logp"].detach()), np.zeros(len(r.rows)), r.mask, kind="reinforce",
        offsets=r.offsets, logp_reference=r.tokens(t["reference"]), kl_coefficient=1.0, kl_kind=kind,
        aggregation="token-mean",
    )  # fmt: skip
    close(loss.value, float(want.detach()))
    close(r.to_dense(loss.gradient, tuple(d.mask.shape)), gradient)


@pytest.mark.parametrize("seed", range(6))
def test_gspo_and_reinforce(seed):
    d, r, t = loss_inputs(seed)
    mask = d.population
    rows = mask.sum(1) > 0
    ratio = (((t["logp"] - t["old"]) * mask).sum(1) / mask.sum(1).clamp(min=1))[rows]
    want = ref.ppo_terms(ratio, torch.zeros_like(ratio), t["advantage"][rows], 0.2, 0.28, None).mean()
    (gradient,) = torch.autograd.grad(want, t["logp"])
    arguments = (r.tokens(t["logp"].detach()), t["advantage"].numpy()[r.rows], r.mask)
    got = rl.policy_loss(*arguments, logp_old=r.tokens(t["old"]), offsets=r.offsets, kind="gspo")
    close(got.value, float(want.detach()))
    close(r.to_dense(got.gradient, tuple(mask.shape)), gradient)

    want = ref.aggregate(-t["advantage"][:, None] * t["logp"] * t["weights"], mask, "seq-mean-token-sum")
    (gradient,) = torch.autograd.grad(want, t["logp"])
    got = rl.policy_loss(
        *arguments, weights=r.tokens(t["weights"]), offsets=r.offsets, kind="reinforce"
    )
    close(got.value, float(want.detach()))
    close(r.to_dense(got.gradient, tuple(mask.shape)), gradient)


@pytest.mark.parametrize("seed", SEEDS)
def test_token_estimators(seed):
    d = dense(seed)
    r = ragged(d, seed)
    shape = tuple(d.mask.shape)
    g = torch.Generator().manual_seed(seed)
    values = torch.randn(shape, generator=g, dtype=torch.float64)
    extra = torch.randn(shape, generator=g, dtype=torch.float64) * d.population
    rewards = extra.clone()
    reward = d.reward * d.keep
    for i in range(shape[0]):
        valid = torch.nonzero(d.population[i]).flatten()
        if len(valid):
            rewards[i, valid[-1]] += reward[i]
    advantage, returns = ref.gae(rewards, values, d.population, 0.9, 0.8)
    got = rl.gae(
        r.tokens(values), r.mask, reward.numpy()[r.rows], offsets=r.offsets,
        token_reward=r.tokens(extra), gamma=0.9, lam=0.8,
    )  # fmt: skip
    close(r.to_dense(got.returns, shape), returns)
    close(r.to_dense(got.advantage, shape), ref.whiten_tokens(advantage, d.population))
    # REINFORCE++ is GAE with no critic and lambda 1.
    plain, _ = ref.gae(rewards, torch.zeros_like(values), d.population, 0.9, 1.0)
    got = rl.reinforce_plus_plus(
        r.mask, reward.numpy()[r.rows], offsets=r.offsets, token_reward=r.tokens(extra), gamma=0.9
    )
    close(r.to_dense(got.returns, shape), plain)
    close(r.to_dense(got.advantage, shape), ref.whiten_tokens(plain, d.population))


@pytest.mark.parametrize("seed", range(4))
def test_float32_tokens_are_summed_in_float64(seed):
    d = dense(seed)
    r = ragged(d, seed)
    train, rollout = (r.tokens(x).astype(np.float32) for x in (d.train, d.rollout))
    narrow = rl.log_ratios(r.batch, train, rollout, r.mask, offsets=r.offsets)
    wide = rl.log_ratios(
        r.batch, train.astype(np.float64), rollout.astype(np.float64), r.mask, offsets=r.offsets
    )
    np.testing.assert_array_equal(narrow, wide)


def test_prompt_variance_weights():
    d = dense(2)
    r = ragged(d, 2)
    a = rl.advantages("trloo", batch=r.batch).advantage
    w = np.random.default_rng(0).random(len(a))
    keep, group = d.keep.numpy()[r.rows] > 0, r.batch.group
    precision = {}
    for p in np.unique(group):
        rows = keep & (group == p)
        n = rows.sum()
        if n < 2:
            continue
        variance = (np.mean(a[rows] ** 2 * w[rows]) - np.mean(a[rows] * np.sqrt(w[rows])) ** 2) / (n - 1)
        precision[p] = 1 / (variance + 1e-8)
    total = sum(precision.values())
    want = [a[i] * len(a) * precision.get(group[i], 0) / total for i in range(len(a))]
    close(rl.weigh_prompts_by_variance(r.batch, w, a), np.array(want))
    member = rl.count_tokens(r.mask, offsets=r.offsets)[0] > 0
    want = np.where(member, (a - a[member].mean()) / a[member].std(ddof=1), 0)
    close(rl.standardize(a, member), want)
