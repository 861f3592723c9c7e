"""Argument handling, memory, threads, and the methods that the reference does not cover."""

import numpy as np
import pytest
import torch
from batches import dense, ragged

import assay.rl as rl

BATCH = {"group": [0, 0], "trajectory": [0, 1], "turn": [1, 1], "reward": [1.0, 2.0]}


def message(function, *args, **kwargs):
    with pytest.raises(ValueError) as caught:
        function(*args, **kwargs)
    return str(caught.value)


def test_errors_say_what_to_do():
    batch = rl.Batch(**BATCH)
    flat = np.zeros(4, np.float32)
    assert "missing: turn, reward" in message(rl.advantages, "trloo", group=[0], trajectory=[0])
    assert "there are trloo, grpo" in message(rl.advantages, "tr", batch=batch)
    assert "need offsets" in message(rl.correct_mismatch, batch, flat, flat, np.ones(4))
    assert "have 4 rows, the batch has 2" in message(
        rl.correct_mismatch, batch, flat.reshape(4, 1), flat, np.ones((4, 1))
    )
    assert "offsets must run from 0 to the number of tokens (4)" in message(
        rl.correct_mismatch, batch, flat, flat, np.ones(4), offsets=[0, 1, 3]
    )
    assert "logp_rollout has 3 entries, expected 4" in message(
        rl.correct_mismatch, batch, flat, flat[:3], np.ones(4), offsets=[0, 2, 4]
    )
    assert "no level 'word'" in message(
        rl.correct_mismatch, batch, flat, flat, np.ones(4), offsets=[0, 2, 4], rejection="word"
    )
    assert "inplace needs a contiguous, writable uint8 mask" in message(
        rl.correct_mismatch, batch, flat, flat, np.ones(4), offsets=[0, 2, 4], inplace=True
    )
    assert "bfloat16" in message(
        rl.correct_mismatch, batch, torch.zeros(2, 2, dtype=torch.bfloat16), torch.zeros(2, 2), np.ones((2, 2))
    )
    assert "population='kept' and trained go together" in message(
        rl.advantages, "trloo", batch=batch, population="kept"
    )
    assert "dual_clip is 0.5" in message(
        rl.policy_loss, np.zeros((2, 2)), [1, 1], np.ones((2, 2)), logp_old=np.zeros((2, 2)), dual_clip=0.5
    )
    assert "needs logp_old" in message(rl.policy_loss, np.zeros((2, 2)), [1, 1], np.ones((2, 2)))
    assert "coverage is nan" in message(
        rl.sample_by_coverage, batch, np.ones((2, 1)), correct=[1, 1], coverage=[0.5, np.nan]
    )
    assert "must be integers or strings" in message(rl.Batch, **(BATCH | {"group": [0.5, 1.5]}))
    assert "turn holds 1.5; it must be whole numbers" in message(rl.Batch, **(BATCH | {"turn": [1.0, 1.5]}))
    assert "turn must be integers, not <U1" in message(rl.Batch, **(BATCH | {"turn": ["a", "b"]}))
    for keys, said in (({"seed": -1}, "seed is -1"), ({"step": 2**32}, "step is 4294967296")):
        assert said in message(
            rl.sample_by_coverage, batch, np.ones((2, 1)), correct=[1, 1], coverage=[0, 0], **keys
        )
    assert "seed is -3" in message(rl.bca_mean, [1.0, 2.0], seed=-3)
    assert "no reward function 'speedup/2'" in message(rl.reward, "speedup/2", completed=True)
    assert "is on meta" in message(
        rl.correct_mismatch, batch, torch.zeros(2, 2, device="meta"), torch.zeros(2, 2), np.ones((2, 2))
    )


def test_tensors_and_arrays_share_memory_and_results():
    d = dense(0)
    n = torch.arange(len(d.mask))
    batch = rl.Batch(group=d.group, trajectory=d.trajectory, turn=d.turn, keep=d.keep)
    clean = [torch.where(d.mask > 0, x, 0.0) for x in (d.train, d.rollout)]
    mask = d.mask.to(torch.uint8)
    a = rl.correct_mismatch(batch, *clean, mask, rejection="token", lower=0.95, upper=1.05, importance="token")
    b = rl.correct_mismatch(
        batch, *(x.numpy() for x in clean), mask.numpy() > 0, rejection="token", lower=0.95, upper=1.05,
        importance="token",
    )  # fmt: skip
    assert isinstance(a.state, torch.Tensor) and a.state.shape == mask.shape
    assert isinstance(a.weights, torch.Tensor) and a.weights.dtype == torch.float64
    np.testing.assert_array_equal(a.state.numpy(), b.state)
    np.testing.assert_array_equal(a.weights.numpy(), b.weights)
    assert mask.max() == 1, "the caller's mask is left alone"
    edited = mask.clone()
    c = rl.correct_mismatch(batch, *clean, edited, rejection="token", lower=0.95, upper=1.05, inplace=True)
    assert c.state is edited and torch.equal(edited, a.state)
    # The library reads the tensor's own memory: a change is seen without a new array.
    before = rl.log_ratios(batch, *clean, mask)
    clean[0][0:3] += mask[0:3] * 1.0
    assert not np.array_equal(before, rl.log_ratios(batch, *clean, mask))
    assert len(n) == len(before)


def test_identifiers_may_be_strings():
    a = rl.advantages("trloo", **(BATCH | {"group": ["p", "p"], "trajectory": np.array(["x", "y"], object)}))
    np.testing.assert_array_equal(a.advantage, [-1, 1])
    assert rl.ids(["p"])[0] == rl.ids(["q", "p"])[1]


def test_results_do_not_depend_on_threads():
    d = dense(1, prompts=40, samples=16, turns=3, width=400)
    n = [torch.where(d.mask > 0, x, 0.0).float() for x in (d.train, d.rollout)]
    batch = rl.Batch(group=d.group, trajectory=d.trajectory, turn=d.turn, reward=d.reward)
    a = rl.advantages("trloo", batch=batch).advantage
    results = []
    for threads in (1, 2, 3, 8):
        rl.set_threads(threads)
        m = rl.correct_mismatch(batch, *n, d.mask, rejection="token", lower=0.9, upper=1.1, veto=0.5)
        loss = rl.policy_loss(n[0], a, m.state, logp_old=n[1], aggregation="token-mean")
        results.append((m.metrics, m.state.numpy().tobytes(), loss.value, loss.gradient.numpy().tobytes()))
    rl.set_threads(0)
    assert all(r == results[0] for r in results)


def test_draws_are_keyed_by_seed_step_trajectory_turn_alone():
    d = dense(2)
    r = ragged(d, 2)
    common = {"threshold": 0.0, "width": 0.7}

    def rejected(order, **keys):
        rows = r.rows[order]
        batch = rl.Batch(
            group=d.group.numpy()[rows], trajectory=d.trajectory.numpy()[rows], turn=d.turn.numpy()[rows]
        )
        out = rl.sample_by_coverage(
            batch, np.ones((len(rows), 1)), correct=d.correct.numpy()[rows],
            coverage=d.coverage.numpy()[rows], **common, **keys,
        )  # fmt: skip
        return dict(zip(rows.tolist(), out.rejected.tolist()))

    order = np.arange(len(r.rows))
    first = rejected(order, seed=1, step=2)
    assert first == rejected(order[::-1], seed=1, step=2)
    half = rejected(order[: len(order) // 2], seed=1, step=2)
    assert half == {k: first[k] for k in half}
    assert first != rejected(order, seed=1, step=3)
    assert first != rejected(order, seed=2, step=2)


def test_coverage_draws_have_their_probability():
    n = 20000
    batch = rl.Batch(group=np.zeros(n, int), trajectory=np.arange(n), turn=np.ones(n, int))
    out = rl.sample_by_coverage(
        batch, np.ones((n, 1)), correct=np.ones(n), coverage=np.full(n, 0.35), seed=9
    )
    assert abs(out.rejected.mean() - 0.5) < 4 * 0.5 / np.sqrt(n)


def test_coverage_scopes_and_accounting():
    batch = rl.Batch(group=[0] * 3, trajectory=[0] * 3, turn=[1, 2, 3])
    arguments = {"correct": [1, 1, 0], "coverage": [0.9, 0.1, 0.0]}
    mask = np.array([[1, 1], [1, 0], [1, 1]])
    for scope, want in (("turn", [0, 1, 0]), ("suffix", [0, 1, 1]), ("trajectory", [1, 1, 1])):
        out = rl.sample_by_coverage(batch, mask, scope=scope, **arguments)
        assert out.rejected.tolist() == want
        expected = np.where(np.array(want)[:, None], rl.COVERAGE, 1) * mask
        np.testing.assert_array_equal(out.state, expected)
    assert out.metrics["coverage_rs_masked_fraction"] == 1.0
    assert out.metrics["coverage_rs_correct_only_masked_fraction"] == 1.0
    fast = rl.sample_by_coverage(batch, mask, speedup=[1, 2, 1], speedup_threshold=2.0, **arguments)
    assert fast.rejected.tolist() == [0, 0, 0]
    assert rl.sample_by_coverage(batch, mask, width=0.0, **arguments).rejected.tolist() == [0, 1, 0]


def test_rejection_for_rate_rejects_that_many():
    d = dense(3, prompts=20)
    r = ragged(d, 3)
    arguments = (r.batch, r.tokens(d.train), r.tokens(d.rollout), r.mask)
    for level in ("geometric", "turn_geo"):
        lower, upper = rl.rejection_for_rate(*arguments, 0.25, level, offsets=r.offsets)
        out = rl.correct_mismatch(*arguments, offsets=r.offsets, rejection=level, lower=lower, upper=upper)
        ratios = np.exp(rl.log_ratios(*arguments, level, offsets=r.offsets))
        outside = (ratios < lower) | (ratios > upper)
        assert 0.1 < outside.mean() <= 0.3
        assert out.metrics["rollout_rs_masked_fraction"] > 0


def test_profile_counts_every_population_token():
    d = dense(4)
    r = ragged(d, 4)
    profile = rl.profile_mismatch(r.tokens(d.train), r.tokens(d.rollout), r.mask, offsets=r.offsets)
    n = float(d.population.sum())
    gap = ((d.train - d.rollout)[d.population > 0]).sum()
    for buckets in profile.values():
        assert buckets[:, 0].sum() == n
        assert buckets[:, 1].sum() == pytest.approx(float(gap), rel=1e-12)


def test_signal_metrics_and_quality_account_for_every_reason():
    mask = np.ones((4, 2), np.uint8)
    state = rl.reject_rows(mask, np.array([0, rl.MISMATCH, rl.COVERAGE | rl.VETO, rl.VOID]))
    m = rl.signal_metrics(state, [1.0, 2.0, -1.0, 5.0], np.array([2, 1, 2, 0]))
    assert m["trained_fraction"] == 0.25
    assert m["advantage_sum"] == 2.0 and m["advantage_sum_before"] == 4.0
    for reason in ("mismatch", "veto", "coverage", "void"):
        assert m[f"rejected_fraction/{reason}"] == 0.25
    assert m["single_fraction"] == pytest.approx(1 / 3) and m["population_min"] == 1
    q = rl.rejection_quality(state, [1, 1, 1, 0], [2.0, 1.3, 1.0, 0.0])
    assert q["masked/count"] == 2 and q["non_masked/count"] == 1, "void rows are neither"
    assert q["masked/fast@1.2"] == 0.5 and q["fast@1.2/mask_rate"] == 0.5
    assert q["overall_mask_rate"] == pytest.approx(2 / 3)
    only = rl.rejection_quality(state, [1, 1, 1, 0], [2.0, 1.3, 1.0, 0.0], reasons=rl.COVERAGE)
    assert only["masked/count"] == 1 and only["masked/mean_performance"] == 1.0


def filtering(rewards, **options):
    """rewards: {group: [[turn rewards] per sample]}; returns kept (group, sample) pairs."""
    rows = [
        (g, 100 * g + s, t + 1, r)
        for g, samples in rewards.items()
        for s, turns in enumerate(samples)
        for t, r in enumerate(turns)
    ]
    group, trajectory, turn, reward = map(np.array, zip(*rows))
    batch = rl.Batch(group=group, trajectory=trajectory, turn=turn, reward=reward)
    length = options.pop("length", None)
    if length:
        options["length"] = np.array([length[t] for t in trajectory])
    out = rl.filter_groups(batch, **options)
    return sorted(set(trajectory[out.keep > 0].tolist())), out


def test_groups_without_signal_go():
    rewards = {0: [[0, 1], [0, 1]], 1: [[0, 1], [0, 2]], 2: [[1], [1]], 3: [[5]], 4: [[0, 1], [2, 1]]}
    kept, out = filtering(rewards)
    assert kept == [100, 101, 300]
    assert out.metrics["groups_without_signal"] == 3
    kept, _ = filtering(rewards, signal="any_turn")
    assert kept == [100, 101, 300, 400, 401]


def test_group_limits():
    rewards = {g: [[float(s)] for s in range(6 if g != 2 else 3)] for g in range(5)}
    kept, out = filtering(rewards, max_groups=3, samples_per_group=4, seed=1)
    assert out.groups == 3 and out.samples == 12
    assert not any(200 <= t < 300 for t in kept), "incomplete groups come last"
    assert filtering(rewards, max_groups=3, samples_per_group=4, seed=1)[0] == kept
    assert any(
        filtering(rewards, max_groups=3, samples_per_group=4, seed=s)[0] != kept for s in range(2, 9)
    )
    _, out = filtering({0: [[0.0], [1.0]]}, samples_per_group=4)
    assert out.metrics["groups_too_small"] == 1
    kept, out = filtering({0: [[0.0], [1.0], [3.0]]}, reward_threshold=0.5)
    assert kept == [1, 2]


def test_selection_keeps_the_share_of_positives_and_prefers_short_ones():
    rewards = {0: [[1.0], [1.0], [2.0], [1.0], [0.0], [0.0], [0.0], [0.0]]}
    length = {0: 100, 1: 10, 2: 100, 3: 1000, 4: 50, 5: 5, 6: 500, 7: 20}
    kept, _ = filtering(rewards, samples_per_group=4, strategy="efficiency", length=length)
    assert kept == [1, 2, 5, 7]
    counts = np.zeros(8)
    for step in range(300):
        kept, _ = filtering(
            rewards, samples_per_group=4, strategy="efficiency_stochastic", length=length, step=step
        )
        assert sum(k < 4 for k in kept) == 2
        counts[kept] += 1
    assert counts[1] > counts[2] > counts[3] and counts[5] > counts[7] > counts[6] > 0


def test_over_long_groups_go():
    rewards = {0: [[0.0], [1.0]], 1: [[0.0], [1.0]]}
    length = {0: 10, 1: 99, 100: 99, 101: 99}
    assert filtering(rewards, max_length=99, length=length)[0] == [0, 1]
    assert filtering(rewards, max_length=99, min_short=2, length=length)[0] == []


def test_loss_backpropagates_through_torch():
    logp = torch.tensor([[-1.0, -2.0], [-0.5, -0.1]], dtype=torch.float64, requires_grad=True)
    old = logp.detach() - 0.1
    loss = rl.policy_loss(logp * 2 / 2, [1.0, -1.0], torch.ones(2, 2), logp_old=old)
    (3 * loss.value).backward()
    torch.testing.assert_close(logp.grad, 3 * loss.gradient)
    flat = rl.policy_loss(logp.detach(), np.full((2, 2), 0.5), np.ones((2, 2)), logp_old=old)
    row = rl.policy_loss(logp.detach(), [0.5, 0.5], np.ones((2, 2)), logp_old=old)
    assert flat.value == row.value


def test_one_advantage_per_row_or_per_token():
    """Also where a flat batch has as many rows as tokens: then it is one per row."""
    logp, mask = np.array([-1.0, -2.0]), np.ones(2)
    common = {"kind": "reinforce", "aggregation": "seq-sum-no-norm"}
    per_row = rl.policy_loss(logp, [3.0, 5.0], mask, offsets=[0, 2, 2], **common)
    assert per_row.value == 3 * 1 + 3 * 2
    per_token = rl.policy_loss(logp, [3.0, 5.0], mask, offsets=[0, 2], **common)
    assert per_token.value == 3 * 1 + 5 * 2
    square = rl.policy_loss(np.full((2, 2), -1.0), [[1.0, 2.0], [3.0, 4.0]], np.ones((2, 2)), **common)
    assert square.value == 10
    assert "advantage" in message(rl.policy_loss, logp, [1.0, 2.0, 3.0], mask, offsets=[0, 2], **common)


def test_clip_fractions():
    old = np.zeros((1, 4))
    logp = np.log(np.array([[1.5, 0.5, 5.0, 1.0]]))
    loss = rl.policy_loss(logp, np.array([[1.0, -1.0, -1.0, 1.0]]), np.ones((1, 4)), logp_old=old)
    m = loss.metrics
    assert (m["clip_fraction_upper"], m["clip_fraction_lower"], m["clip_fraction_dual"]) == (0.25,) * 3
    assert m["clip_fraction"] == 0.75
    assert loss.value == pytest.approx(-1.28 + 0.8 + 3.0 - 1.0)
    assert loss.gradient.tolist() == [[0.0, 0.0, 0.0, -1.0]]


def test_empty_batches_are_no_error():
    empty = np.zeros((0, 5))
    batch = rl.Batch(
        group=np.zeros(0, int), trajectory=np.zeros(0, int), turn=np.zeros(0, int), reward=np.zeros(0)
    )
    assert rl.advantages("trloo", batch=batch).advantage.shape == (0,)
    assert rl.correct_mismatch(batch, empty, empty, empty, veto=1e-4).metrics["kl"] == 0.0
    two = rl.Batch(**BATCH)
    m = rl.correct_mismatch(two, np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3)), rejection="geometric")
    assert m.metrics["rollout_rs_masked_fraction"] == 0.0
    assert rl.policy_loss(np.zeros((2, 3)), [1, 1], np.zeros((2, 3)), logp_old=np.zeros((2, 3))).value == 0.0


def test_coverage_is_rounded_as_pythons_records_hold_it():
    for whole in (1000, 997, 64, 7, 3):
        for part in range(whole + 1):
            got = rl.reward(
                completed=True, correct=True, own_time_us=part, all_time_us=whole, round_coverage=True,
                coverage_weight=1.0, correct_weight=0.0, performance_weight=0.0,
            )  # fmt: skip
            assert got.coverage == round(part / whole, 2), (part, whole)


def test_rewards_and_statistics_through_python():
    r = rl.reward(completed=True, correct=True, speedup=1.3, own_time_us=62, all_time_us=100)
    assert r.value == pytest.approx(1.46) and r.coverage == pytest.approx(0.31)
    assert rl.reward("staircase/1", completed=True, compiled=False).value == -0.5
    assert rl.coverage(own_kernels=3, all_kernels=4, type="number_coverage") == 0.75
    assert rl.pass_at_k(5, 2, 1) == pytest.approx(0.4)
    assert rl.mean_pass_at_k([5, 5], [2, 0], 1) == pytest.approx(0.2)
    assert rl.fast_p([1, 1, 0], [1.5, 0.9, 3.0], 1.0).value == pytest.approx(1 / 3)
    assert rl.mcnemar(6, 0)[0] == pytest.approx(0.03125)
    assert rl.sign_flip([1, 2, 3, 4, 5]) == 2 / 32
    np.testing.assert_allclose(rl.holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    low = rl.hierarchical_mean(["a", "a", "b"], [1.0, 3.0, 4.0], families={"a": "f", "b": "f"})
    assert low.value == 3.0 and low.low <= 3.0 <= low.high
    assert "task" in message(rl.hierarchical_difference, ["a"], [1.0], ["b"], [1.0])
    assert rl.best_at_k([3, 1, 2], 2) == pytest.approx(8 / 3)
    assert rl.wilson(5, 10).low == pytest.approx(0.2366, abs=1e-3)
    assert rl.bca_mean([1.0, 2.0, 4.0], resamples=200).value == pytest.approx(7 / 3)
