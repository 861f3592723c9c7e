"""The step in one call, figures by turn, gates, windows and repeated measurements, against plain Python."""

import math
import statistics

import numpy as np
import pytest
import torch
from batches import dense, ragged
from hypothesis import given, settings
from hypothesis import strategies as st

import assay.rl as rl

P = (1.0, 1.5)


def close(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=1e-12)


def speed_of(prefix, judged):
    """judged: (correct, speedup) of each."""
    right = sorted((s for c, s in judged if c), reverse=True)
    mean = lambda xs: sum(xs) / len(xs) if xs else 0.0  # noqa: E731
    out = {
        "count": len(judged), "correctness_rate": mean([float(c) for c, _ in judged]),
        "mean_performance": mean(right), "max_performance": max(right, default=0.0),
        "min_performance": min(right, default=0.0),
        "mean_performance_in_all": mean([s if c else 0.0 for c, s in judged]),
    }  # fmt: skip
    for p in P:
        fast = sum(s >= p for s in right)
        out[f"fast@{p:g}"] = fast / len(right) if right else 0.0
        out[f"fast@{p:g}_in_all"] = fast / len(judged) if judged else 0.0
    return {prefix + name: value for name, value in out.items()}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count_abnormal", [True, False])
def test_turn_metrics(seed, count_abnormal):
    d = dense(seed)
    r = ragged(d, seed)
    rng = np.random.default_rng(seed)
    n = len(r.rows)
    correct, abnormal = rng.random(n) < 0.6, rng.random(n) < 0.15
    speedup, told = rng.random(n) * 3, rng.random(n) * 3
    metrics = rl.turn_metrics(
        r.batch, correct=correct, speedup=speedup, abnormal=abnormal, told_speedup=told,
        thresholds=P, count_abnormal=count_abnormal,
    )  # fmt: skip
    turn, trajectory = r.batch.turn, r.batch.trajectory
    valid = np.ones(n, bool) if count_abnormal else ~abnormal
    right = correct & ~abnormal
    judged = [(bool(right[i]), speedup[i]) for i in range(n)]
    want = {}
    samples = {t: [i for i in np.flatnonzero((trajectory == t) & valid)] for t in set(trajectory.tolist())}
    samples = {t: sorted(rows, key=lambda i: turn[i]) for t, rows in samples.items() if rows}
    for k in sorted(set(turn[valid].tolist())):
        want |= speed_of(f"turn_{k}/", [judged[i] for i in np.flatnonzero((turn == k) & valid)])
        best = []
        for rows in samples.values():
            so_far = [judged[i] for i in rows if turn[i] <= k and right[i]]
            best.append(max(so_far, key=lambda x: x[1], default=(False, 0.0)))
        want |= speed_of(f"best_by_turn_{k}/", best)
    want |= speed_of("final/", [judged[rows[-1]] for rows in samples.values()])
    want |= speed_of("selected/", [judged[max(rows, key=lambda i: told[i])] for rows in samples.values()])
    firsts = [right[rows[0]] for rows in samples.values()]
    lasts = [right[rows[-1]] for rows in samples.values()]
    want["improvement/net_improvement"] = sum(lasts) - sum(firsts)
    for name, value in want.items():
        close(metrics[name], value)


def test_turn_signal_and_finish_reasons():
    d = dense(1)
    r = ragged(d, 1)
    result = rl.advantages("trloo", batch=r.batch)
    metrics = rl.turn_signal(r.batch, result)
    turn, keep = r.batch.turn, np.asarray(r.batch.keep) != 0
    for k in set(turn.tolist()):
        rows = (turn == k) & keep
        close(metrics[f"turn_{k}/mean_return"], result.value[rows].mean())
        close(metrics[f"turn_{k}/group_size_mean"], result.population[rows].mean())
        close(metrics[f"turn_{k}/single_fraction"], (result.population[rows] == 1).mean())
    shares = rl.finish_reasons(["stop", "stop", "error", "length"])
    assert shares["finish_reason/stop"] == 0.5 and shares["abnormal_rate"] == 0.25
    assert rl.finish_reasons([]) == {"abnormal_rate": 0.0, "normal_rate": 0.0}


@pytest.mark.parametrize("seed", range(6))
def test_precision_gates(seed):
    d = dense(seed, noise=0.02)
    r = ragged(d, seed)
    g = torch.Generator().manual_seed(seed)
    top = d.rollout + torch.rand(d.mask.shape, generator=g, dtype=torch.float64) * 16
    got = rl.filter_by_precision(
        r.batch, r.tokens(d.train), r.tokens(d.rollout), r.mask, logp_top=r.tokens(top),
        offsets=r.offsets, mean_limit=0.005, gap_floor=-15.5,
    )  # fmt: skip
    gates = np.zeros(len(d.mask), np.uint8)
    for t in set(d.trajectory.tolist()):
        rows = torch.nonzero(d.trajectory == t).flatten()
        m = d.population[rows] > 0
        if m.any():
            gap = (d.train - d.rollout)[rows][m]
            value = int(abs(gap.mean()) > 0.005) | 2 * int((d.rollout - top)[rows][m].min() < -15.5)
            gates[rows.numpy()] = value
    np.testing.assert_array_equal(got.gates, gates[r.rows])
    dropped = np.repeat(gates[r.rows] > 0, np.diff(r.offsets))
    np.testing.assert_array_equal((got.state & rl.GROUP) > 0, dropped & (r.mask > 0))
    assert 0 < got.metrics["precision_dropped_fraction"] < 1 or seed > 3


@pytest.mark.parametrize("aggregation", ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean",
                                         "seq-mean-token-sum-norm"])  # fmt: skip
def test_entropy_bonus_against_autograd(aggregation):
    logits = torch.randn(4, 6, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    logits.requires_grad_()
    mask = torch.rand(4, 6, generator=torch.Generator().manual_seed(1)) < 0.7
    mask[2] = False
    picked = torch.randint(0, 9, (4, 6), generator=torch.Generator().manual_seed(2))
    distribution = torch.log_softmax(logits, -1)
    logp = distribution.gather(-1, picked.unsqueeze(-1)).squeeze(-1)
    entropy = -(distribution.exp() * distribution).sum(-1)
    a = torch.tensor([1.0, -0.5, 2.0, 0.3], dtype=torch.float64)
    m = mask.double()
    rows = m.sum(1) > 0

    def aggregate(x):
        sums = (x * m).sum(1)
        return {
            "token-mean": lambda: sums.sum() / m.sum(),
            "seq-mean-token-sum": lambda: sums[rows].mean(),
            "seq-mean-token-mean": lambda: (sums[rows] / m.sum(1)[rows]).mean(),
            "seq-mean-token-sum-norm": lambda: sums.sum() / 6,
        }[aggregation]() / 1000.0

    q = torch.exp(logp - logp.detach())
    want = aggregate(-a[:, None] * q) - 0.1 * aggregate(entropy)
    (gradient,) = torch.autograd.grad(want, logits, retain_graph=True)
    loss = rl.policy_loss(
        logp, a, mask, logp_old=logp.detach(), entropy=entropy, entropy_coefficient=0.1,
        aggregation=aggregation, scale=1000.0,
    )  # fmt: skip
    close(loss.value.detach(), want.detach())
    (ours,) = torch.autograd.grad(loss.value, logits)
    close(ours, gradient)
    with pytest.raises(ValueError, match="entropy has 0 entries"):
        rl.policy_loss(logp, a, mask, logp_old=logp.detach(), entropy_coefficient=0.1)


def test_credit_up_to_the_first_success_and_pooling():
    rows = {"group": [0] * 3 + [1], "trajectory": [0, 0, 1, 2], "turn": [1, 2, 1, 1]}
    batch = rl.Batch(**rows, reward=[0.0, 2.0, 1.0, 5.0])
    close(rl.returns(batch, "first", gamma=0.5), [1.0, 2.0, 1.0, 5.0])
    pooled = rl.advantages("trloo", batch=batch, kind="none", single="group_mean").advantage
    close(pooled, [-1.0, 2.0 - 0.5, 1.0, 5.0])
    scaled = rl.advantages("trloo", batch=batch, kind="none", normalisation="std").advantage
    close(scaled[:1], -1.0 / (math.sqrt(0.5) + 1e-8))
    with pytest.raises(ValueError, match="no normalisation 'range'"):
        rl.advantages("trloo", batch=batch, normalisation="range")
    with pytest.raises(ValueError, match="no rule 'mean'"):
        rl.advantages("trloo", batch=batch, single="mean")


@pytest.mark.parametrize("seed", range(4))
def test_a_step_is_its_parts_in_order(seed):
    d = dense(seed, prompts=6, samples=5, noise=0.01)
    r = ragged(d, seed)
    tokens = {"logp_train": r.tokens(d.train), "logp_rollout": r.tokens(d.rollout), "offsets": r.offsets}
    mask = (r.mask != 0).astype(np.uint8)
    correct, coverage = d.correct.numpy()[r.rows], d.coverage.numpy()[r.rows]
    rows = {"group": r.batch.group, "trajectory": r.batch.trajectory, "turn": r.batch.turn,
            "reward": d.reward.numpy()[r.rows]}  # fmt: skip
    recipe = rl.Recipe(
        correct_mismatch={"rejection": "geometric", "lower": 0.995, "upper": 1.005, "veto": 1e-4},
        filter_groups={"smallest_std": 0.5}, seed=3,
    )  # fmt: skip
    got = rl.training_step(
        **rows, **tokens, mask=mask, correct=correct, coverage=coverage, speedup=d.reward.numpy()[r.rows],
        recipe=recipe, step=seed,
    )  # fmt: skip

    keep = rl.void_turns(rl.Batch(**rows))
    batch = rl.Batch(**rows, keep=keep)
    state = rl.reject_rows(mask, np.where(keep, 0, rl.VOID).astype(np.uint8), offsets=r.offsets)
    state = rl.correct_mismatch(batch, mask=state, **tokens, **recipe.correct_mismatch).state
    state = rl.sample_by_coverage(
        batch, state, correct=correct, coverage=coverage, offsets=r.offsets, seed=3, step=seed
    ).state
    kept = rl.filter_groups(batch, smallest_std=0.5, seed=3, step=seed).keep
    state = rl.reject_rows(state, np.where(kept, 0, rl.GROUP).astype(np.uint8), offsets=r.offsets)
    np.testing.assert_array_equal(got.state, state)
    want = rl.advantages("trloo", **rows, keep=keep & kept).advantage
    close(got.advantage, np.where(keep & kept, want, 0))
    assert 0 < got.groups < 6
    # A group that was dropped changes nothing for the others, and rejection never adds a token.
    assert ((got.state & 1) <= mask).all()
    np.testing.assert_array_equal(got.trained, rl.count_tokens(state, offsets=r.offsets)[0])
    for name in ("mismatch/kl", "coverage/coverage_rs_masked_fraction", "filter/groups_without_signal",
                 "rejected_fraction/void", "advantage_sum", "single_fraction", "turn_1/mean_reward",
                 "turn_1/group_size_mean", "mismatch_quality/overall_mask_rate"):  # fmt: skip
        assert name in got.metrics
    again = rl.training_step(
        **rows, **tokens, mask=mask, correct=correct, coverage=coverage, speedup=d.reward.numpy()[r.rows],
        recipe=recipe, step=seed,
    )  # fmt: skip
    np.testing.assert_array_equal(got.state, again.state)


def test_a_step_with_less():
    rows = {"group": [0, 0], "trajectory": [0, 1], "turn": [1, 1], "reward": [1.0, 2.0]}
    mask = np.ones((2, 3), np.uint8)
    got = rl.training_step(**rows, mask=mask)
    close(got.advantage, [-1.0, 1.0])
    kept = rl.training_step(**rows, mask=np.array([[1, 1], [0, 0]]), recipe=rl.Recipe(population="kept"))
    close(kept.advantage, [1.0, 0.0])
    with pytest.raises(ValueError, match="needs logp_train"):
        rl.training_step(**rows, mask=mask, logp_rollout=np.zeros((2, 3)))
    with pytest.raises(ValueError, match="needs correct beside coverage"):
        rl.training_step(**rows, mask=mask, coverage=[0.5, 0.5])
    failed = rl.training_step(**rows, mask=mask, failed=[1, 0])
    assert failed.keep.tolist() == [0, 1] and failed.trained.tolist() == [0, 3]
    assert rl.Recipe().policy_loss["scale"] == 1000.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12), st.integers(1, 12))
def test_the_best_window_is_the_first_greatest(rewards, remain):
    got = rl.select_window(remain, reward=rewards)
    if len(rewards) <= remain:
        assert got == range(len(rewards))
        return
    sums = [sum(rewards[i : i + remain]) for i in range(len(rewards) - remain + 1)]
    assert got == range(sums.index(max(sums)), sums.index(max(sums)) + remain)
    assert rl.select_window(remain, "last", reward=rewards) == range(len(rewards) - remain, len(rewards))


def test_windows_and_totals():
    assert rl.total_turns(5, 10, 4) == 14
    with pytest.raises(ValueError, match="fewer turns must remain"):
        rl.total_turns(3, 2, 3)
    with pytest.raises(ValueError, match="give reward, speedup or coverage"):
        rl.select_window(2)
    with pytest.raises(ValueError, match="speedup has 0 entries"):
        rl.select_window(1, "best", "performance", reward=[1, 2])
    both = {"coverage": [0.5, 0.5, 0.5], "reward": [0, 1, 2]}
    assert rl.select_window(1, "best", "time_coverage_reward", **both) == range(2, 3)
    assert rl.select_window(1, "best", "time_coverage", **both) == range(1)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.floats(0.1, 20)), min_size=1, max_size=6))
def test_repeated_measurements(runs):
    runs = [(v, c, s if c else None) for v, c, s in runs]
    got = rl.join_measurements(runs)
    valid = [(c, s) for v, c, s in runs if v]
    assert got.used == len(valid) and got.valid == bool(valid)
    if not valid:
        return
    speeds = [s for c, s in valid if c]
    right = 2 * len(speeds) > len(valid)
    assert got.correct == right
    if right:
        spread = (max(speeds) - min(speeds)) / statistics.median(speeds)
        agreed = len(speeds) == len(valid) and spread <= 0.1
        assert got.agreed == agreed
        assert got.speedup == pytest.approx(statistics.median(speeds) if agreed else min(speeds))
        assert rl.join_measurements(runs, policy="minimum").speedup == min(speeds)
    assert rl.join_measurements(runs, policy="replace").correct == valid[-1][0]
    suspicious = bool(speeds) and max(speeds) > 3
    assert got.still_wanted == (max(0, 3 - len(valid)) if suspicious else 0)


def test_statistics_of_speedups():
    values = [0.5, 1.0, 2.0, 4.0, 8.0]
    geometric = rl.bca_geometric_mean(values, resamples=500)
    assert geometric.value == pytest.approx(statistics.geometric_mean(values))
    assert geometric.low < geometric.value < geometric.high
    median = rl.bootstrap_median(values, resamples=500)
    assert median.value == 2.0 and 0.5 <= median.low <= 2.0 <= median.high <= 8.0
    with pytest.raises(ValueError, match="needs positive"):
        rl.bca_geometric_mean([1.0, 0.0])


def test_the_stub_is_the_modules():
    """Every function of the compiled part is in the typed stub, with its arguments' names."""
    import pathlib
    import re

    stub = pathlib.Path(rl.__file__).with_name("_core.pyi").read_text()
    for name in dir(rl._core):
        function = getattr(rl._core, name)
        if name.startswith("_") or not callable(function):
            continue
        assert re.search(rf"^(def|class) {name}\b", stub, re.MULTILINE), name
        for argument in re.findall(r"(\w+): ", (function.__doc__ or "").split("\n")[0]):
            assert re.search(rf"^def {name}\(.*\b{argument}: ", stub, re.MULTILINE), (name, argument)


def test_type_checkers_see_what_the_package_exports():
    """A literal `__all__` (nothing else re-exports in a typed package) that is complete, with annotations."""
    import ast
    import inspect
    import pathlib
    import types

    tree = ast.parse(pathlib.Path(rl.__file__).read_text())
    (literal,) = (n.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "__all__")
    exported = ast.literal_eval(literal)
    public = {
        name for name, value in vars(rl).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType) and name != "annotations"
    }  # fmt: skip
    assert set(exported) == public and len(exported) == len(public)
    for name in exported:
        if inspect.isfunction(function := getattr(rl, name)):
            annotated = function.__annotations__.keys()
            assert annotated >= {"return", *inspect.signature(function).parameters}, name
            assert function.__doc__, name
