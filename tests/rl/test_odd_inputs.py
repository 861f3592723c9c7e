"""What trainers hand over by mistake: each is refused with what to do, or means the obvious."""

import math

import numpy as np
import pytest
import torch

import assay.rl as rl

NAN, INF = math.nan, math.inf
ROWS = {"group": [0, 0, 0], "trajectory": [0, 1, 2], "turn": [1, 1, 1], "reward": [1.0, 0.0, 2.0]}
LOGP = np.log(np.linspace(0.1, 0.9, 12).reshape(3, 4)).astype(np.float32)
OLD = LOGP - np.float32(0.1)
MASK = np.ones((3, 4), np.uint8)
ADVANTAGE = [1.0, -1.0, 0.5]


def batch(**changed):
    return rl.Batch(**ROWS | changed)


def loss(logp=LOGP, advantage=ADVANTAGE, mask=MASK, **more):
    return rl.policy_loss(logp, advantage, mask, **{"logp_old": OLD} | more)


def corrected(train=LOGP, rollout=OLD, mask=MASK, **more):
    return rl.correct_mismatch(batch(), train, rollout, mask, **{"rejection": "token"} | more)


REFUSED = [
    ("holds nan; it must be whole", lambda: batch(turn=[NAN, 1, 1])),
    ("holds inf; it must be whole", lambda: batch(turn=[INF, 1, 1])),
    ("holds 1.5; it must be whole", lambda: batch(turn=[1.5, 1, 1])),
    ("turn holds 9223372036854775808", lambda: batch(turn=np.array([2**63, 1, 1], np.uint64))),
    ("turn must be integers, not object", lambda: batch(turn=[None, 1, 1])),
    ("reward must be real numbers, not complex128", lambda: batch(reward=[1j, 0, 1])),
    ("reward must be real numbers, not <U1", lambda: batch(reward=["a", "b", "c"])),
    ("row 0: reward is nan; drop the trajectory", lambda: batch(reward=[NAN, 0, 1])),
    ("row 0: reward is nan", lambda: batch(reward=[None, 0, 1])),
    ("keep holds NaN, which is neither", lambda: batch(keep=[NAN, 1, 1])),
    ("correct holds NaN", lambda: rl.sample_by_coverage(batch(), MASK, correct=[NAN, 1, 1], coverage=[1, 1, 1])),
    ("correct holds NaN", lambda: rl.fast_p([NAN], [1.0], 1.0)),
    ("group must be integers or strings", lambda: batch(group=[0.5, 0.5, 0.5])),
    ("reward is on meta; move it with .cpu", lambda: batch(reward=torch.empty(3, device="meta"))),
    ("logp is on meta; move it with .cpu", lambda: loss(torch.empty(3, 4, device="meta"))),
    ("logp is bfloat16; convert it with .float", lambda: loss(torch.zeros(3, 4, dtype=torch.bfloat16))),
    ("logp must be real numbers, not complex64", lambda: loss(LOGP.astype(np.complex64))),
    ("logp is None; give an array", lambda: rl.policy_loss(None, ADVANTAGE, MASK, kind="reinforce")),
    ("'ppo' needs logp_old", lambda: rl.policy_loss(LOGP, ADVANTAGE, MASK)),
    ("weight has 0 entries, expected 3; it is needed", lambda: rl.advantages("optimal_baseline", batch=batch())),
    ("row 1: weight is nan", lambda: rl.advantages("optimal_baseline", batch=batch(), weight=[0, NAN, 0])),
    ("row 0: baseline is nan", lambda: rl.advantages("remax", batch=batch(), baseline=[NAN, 0, 0])),
    (r"mask has shape \(4, 3\), the other", lambda: loss(mask=MASK.T)),
    (r"mask has shape \(4, 3\), the other", lambda: corrected(mask=MASK.T)),
    (r"logp_rollout has shape \(2, 6\)", lambda: corrected(rollout=OLD.reshape(2, 6))),
    (r"logp_old has shape \(2, 6\)", lambda: loss(logp_old=OLD.reshape(2, 6))),
    ("mask holds 0.5; it must be whole numbers in .0, 255", lambda: loss(mask=MASK * 0.5)),
    ("mask holds nan", lambda: corrected(mask=np.full((3, 4), NAN))),
    ("mask holds -1", lambda: corrected(mask=-MASK.astype(int))),
    ("state holds 256", lambda: rl.count_tokens(np.full((3, 4), 256))),
    ("reasons holds 256", lambda: rl.reject_rows(MASK, [256, 0, 0])),
    ("reasons hold 1, which is TRAINED", lambda: rl.reject_rows(MASK, [1, 0, 0])),
    ("reasons is 999", lambda: rl.rejection_quality(MASK, [1, 1, 1], [1, 1, 1], reasons=999)),
    ("must satisfy 0 <= lower <= upper, upper > 0", lambda: corrected(upper=0)),
    ("offsets holds 4.5", lambda: loss(offsets=[0, 4.5, 8, 12])),
    ("offsets must run from 0", lambda: loss(offsets=[-4, 0, 8, 12])),
    ("offsets decrease at row 1", lambda: loss(offsets=[0, 8, 4, 12])),
    (r"token arrays are \(rows, width\), and one-dim.*shape \(1, 3, 4\)", lambda: loss(LOGP[None], mask=MASK[None], logp_old=OLD[None])),
    ("dtype is float16; use float32 or float64", lambda: rl.score_norms(MASK, dtype=np.float16)),
    ("dtype is int32", lambda: rl.reinforce_plus_plus(MASK, [1, 2, 3], dtype=np.int32)),
    ("token 5: entropy is not", lambda: loss(entropy=np.where(np.arange(12).reshape(3, 4) == 5, NAN, 1.0),
                                             entropy_quantile=0.5)),
    ("kl_coefficient nan", lambda: loss(kl_coefficient=NAN, logp_reference=OLD)),
    ("task 'b' has no family", lambda: rl.hierarchical_mean(["a", "b"], [1, 2], families={"a": "x"})),
    ("task 'a' has samples in one arm", lambda: rl.hierarchical_difference(["a"], [1], ["b"], [2])),
    ("p is nan", lambda: rl.fast_p([1], [2.0], NAN)),
    ("all_time_us is nan", lambda: rl.coverage(own_time_us=1, all_time_us=NAN)),
    ("threads must be >= 0", lambda: rl.set_threads(-1)),
    ("value 1 is not a number", lambda: rl.best_at_k([1.0, NAN, 3.0], 2)),
    ("counts of tasks are -1 and 2", lambda: rl.mcnemar(-1, 2)),
    ("row 0: a response token has logp_rollout -inf", lambda: corrected(rollout=np.full((3, 4), -INF))),
    ("row 2: turn 4294967296 is too large", lambda: rl.sample_by_coverage(
        batch(turn=[1, 1, 2**32]), MASK, correct=[1, 1, 1], coverage=[1, 1, 1])),
    ("row 0: the advantage comes out as", lambda: rl.advantages("trloo", batch=batch(
        group=["p"] * 3, reward=[1.7e308, -1.7e308, 1]))),
    ("row 1: advantage inf", lambda: rl.weigh_prompts_by_variance(batch(), [1, 1, 1], [1, INF, 1])),
    ("row 1: advantage is nan", lambda: rl.standardize([1, NAN, 1], [1, 1, 1])),
    ("row 0: a response token's advantage comes out as nan", lambda: rl.gae(LOGP * NAN, MASK, [1, 1, 1])),
    ("row 1: a response token's return", lambda: rl.reinforce_plus_plus(MASK, [1, INF, 1])),
    ("row 0: a response token's log-ratio is not", lambda: rl.profile_mismatch(LOGP * NAN, OLD, MASK)),
    ("row 1: speedup is nan", lambda: rl.rejection_quality(MASK, [1, 1, 1], [1, NAN, 1])),
    ("task 0: speedup is nan", lambda: rl.fast_p([1], [NAN], 1.0)),
    ("the reward comes out as nan", lambda: rl.reward(completed=True, correct_weight=NAN, correct=True)),
    ("the value of a failure is nan", lambda: rl.reward("staircase/1", completed=True, compiled=False,
                                                        compilation_fail=NAN)),
    ("are more than can be counted", lambda: rl.total_turns(2**62, 9, 0)),
    ("counts of tasks are 1000000001 and 0", lambda: rl.mcnemar(10**9 + 1, 0)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused_with_what_to_do(number):
    said, call = REFUSED[number]
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.parametrize("seed", [1.5, "a", None])
def test_a_seed_is_an_integer(seed):
    with pytest.raises(TypeError, match="seed is .*; it must be an integer"):
        rl.sample_by_coverage(batch(), MASK, correct=[1, 1, 1], coverage=[1, 1, 1], seed=seed)


def test_a_read_only_mask_is_not_edited():
    mask = MASK.copy()
    mask.flags.writeable = False
    assert corrected(mask=mask).state.sum() > 0
    with pytest.raises(ValueError, match="writable"):
        corrected(mask=mask, inplace=True)
    np.testing.assert_array_equal(mask, MASK)


def test_nothing_at_all():
    none = rl.Batch(group=[], trajectory=[], turn=[], reward=[])
    for name in ("trloo", "grpo", "erloo_norm", "rloo", "grpo_std"):
        assert rl.advantages(name, batch=none).advantage.shape == (0,)
    tokens = np.zeros((0, 5), np.float32)
    step = rl.training_step(
        group=[], trajectory=[], turn=[], reward=[], mask=tokens, logp_train=tokens, logp_rollout=tokens,
        correct=[], coverage=[], speedup=[],
    )  # fmt: skip
    assert step.groups == 0 and step.state.shape == (0, 5)
    assert all(math.isfinite(v) for v in step.metrics.values())
    assert rl.policy_loss(tokens, [], tokens, logp_old=tokens).value == 0.0
    with pytest.raises(ValueError, match="no sample"):
        rl.hierarchical_mean([], [])


@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean",
                                  "seq-mean-token-sum-norm", "seq-sum-no-norm"])  # fmt: skip
def test_all_masked_is_a_loss_of_zero(mode):
    out = loss(mask=MASK * 0, aggregation=mode, logp_old=np.full_like(OLD, NAN))
    assert out.value == 0.0 and not out.gradient.any()


def test_layouts_and_types_mean_the_same():
    want = loss()
    for logp in (np.asfortranarray(LOGP), LOGP[::-1][::-1], LOGP.astype(">f4"), np.repeat(LOGP, 2, 1)[:, ::2]):
        got = loss(logp)
        assert got.value == pytest.approx(want.value, rel=1e-6)
        np.testing.assert_allclose(got.gradient, want.gradient, rtol=1e-6)
    for mask in (MASK.astype(bool), MASK.astype(np.float32), torch.tensor(MASK), torch.tensor(MASK).bool(),
                 torch.tensor(MASK).t().contiguous().t()):  # fmt: skip
        assert loss(mask=mask).value == want.value


def test_nested_lists_are_arrays():
    lists = [x.tolist() for x in (LOGP, OLD, MASK)]
    assert loss(lists[0], mask=lists[2], logp_old=lists[1]).value == pytest.approx(loss().value)
    out = rl.correct_mismatch(batch(), *lists, rejection="token", importance="token")
    np.testing.assert_array_equal(out.state, corrected().state)
    assert out.weights.shape == MASK.shape
    assert rl.gae(lists[0], lists[2], [1, 2, 3]).advantage.shape == MASK.shape
    assert rl.reinforce_plus_plus(lists[2], [1, 2, 3]).returns.shape == MASK.shape
    assert rl.count_tokens(lists[2])[0].tolist() == [4, 4, 4]
    step = rl.training_step(**ROWS, mask=lists[2], logp_train=lists[0], logp_rollout=lists[1])
    assert step.state.shape == MASK.shape


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_gradients_have_the_tensors_type(dtype):
    logp = torch.tensor(LOGP).to(dtype).requires_grad_()
    out = rl.policy_loss(logp, torch.tensor(ADVANTAGE), torch.tensor(MASK), logp_old=logp)
    out.value.backward()
    assert logp.grad.dtype == dtype and logp.grad.abs().sum() > 0


def test_counts_that_are_large_are_quick():
    assert rl.pass_at_k(10**12, 3, 10**11) == pytest.approx(0.271, rel=1e-9)
    assert rl.pass_at_k(10**12, 5 * 10**11, 10**11) == 1.0
    exact, mid = rl.mcnemar(10**9, 10**9)
    assert exact == pytest.approx(1.0, abs=1e-3) and mid == pytest.approx(1.0, abs=1e-3)
    exact, _ = rl.mcnemar(3, 9)
    assert exact == pytest.approx(2 * sum(math.comb(12, i) for i in range(4)) / 2**12, rel=1e-12)


def test_one_group_of_many():
    n = 50_000
    reward = np.random.default_rng(0).normal(size=n)
    big = rl.Batch(group=np.zeros(n, int), trajectory=np.arange(n), turn=np.ones(n, int), reward=reward)
    want = reward - (reward.sum() - reward) / (n - 1)
    np.testing.assert_allclose(rl.advantages("trloo", batch=big).advantage, want, rtol=0, atol=1e-12)
    long = rl.Batch(group=np.zeros(n, int), trajectory=np.zeros(n, int), turn=np.arange(n), reward=np.ones(n))
    assert rl.returns(long)[0] == n
