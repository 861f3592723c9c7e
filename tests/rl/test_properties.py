"""What must hold for every batch."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import assay.rl as rl

settings.register_profile("quick", max_examples=60, deadline=None)
settings.load_profile("quick")


@st.composite
def batches(draw):
    """Ragged batches of integers: sums are exact, so equalities may be too."""
    rows = []
    for g in range(draw(st.integers(1, 4))):
        for s in range(draw(st.integers(1, 5))):
            turns = draw(st.lists(st.integers(-4, 8), min_size=1, max_size=4))
            rows += [(g, g * 10 + s, t + 1, float(r)) for t, r in enumerate(turns)]
    rows = draw(st.permutations(rows))
    group, trajectory, turn, reward = (np.array(x) for x in zip(*rows))
    keep = np.array(draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    return {"group": group, "trajectory": trajectory, "turn": turn, "reward": reward, "keep": keep}


NAMES = ["trloo", "grpo", "turn_independent_grpo", "erloo", "erloo_norm", "grpo_std", "rloo", "dr_grpo"]


@given(batches())
def test_leave_one_out_groups_sum_to_zero(b):
    a = rl.advantages("trloo", **b)
    for g, t in set(zip(b["group"], b["turn"])):
        cell = (b["group"] == g) & (b["turn"] == t) & b["keep"]
        if cell.sum() >= 2:
            assert abs(a.advantage[cell].sum()) < 1e-9


@given(batches(), st.integers(-50, 50))
def test_shift_of_last_rewards_changes_nothing_where_there_is_company(b, shift):
    """With returns "none" a shift of every reward is a shift of every value."""
    b = b | {"keep": None}
    a = rl.advantages("trloo", **b, kind="none")
    moved = rl.advantages("trloo", **(b | {"reward": b["reward"] + shift}), kind="none")
    company = a.population >= 2
    np.testing.assert_allclose(a.advantage[company], moved.advantage[company], atol=1e-10)
    np.testing.assert_allclose(moved.advantage[~company] - a.advantage[~company], shift)


@given(batches())
def test_trloo_is_grpo_times_n_over_n_minus_1(b):
    loo, grpo = rl.advantages("trloo", **b), rl.advantages("grpo", **b)
    n = loo.population.astype(float)
    company = n >= 2
    np.testing.assert_allclose(
        loo.advantage[company], (grpo.advantage * n / np.maximum(n - 1, 1))[company], atol=1e-12
    )


@given(batches(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(b, random):
    order = list(range(len(b["group"])))
    random.shuffle(order)
    for name in NAMES:
        a = rl.advantages(name, **b).advantage
        shuffled = rl.advantages(name, **{k: v[order] for k, v in b.items()}).advantage
        np.testing.assert_allclose(shuffled, a[order], rtol=1e-6, atol=1e-9, err_msg=name)


@given(batches(), st.integers(1, 3))
def test_padding_rows_change_nothing(b, count):
    n = len(b["group"])
    who = np.arange(count) % n
    padded = {
        "group": np.concatenate([b["group"][who], b["group"]]),
        "trajectory": np.concatenate([b["trajectory"][who], b["trajectory"]]),
        "turn": np.concatenate([np.full(count, -1), b["turn"]]),
        "reward": np.concatenate([np.full(count, 7.0), b["reward"]]),
        "keep": np.concatenate([np.ones(count, bool), b["keep"]]),
    }
    for name in NAMES:
        a, with_padding = rl.advantages(name, **b), rl.advantages(name, **padded)
        np.testing.assert_array_equal(with_padding.advantage[count:], a.advantage, err_msg=name)
        np.testing.assert_array_equal(with_padding.population[count:], a.population)


@given(batches(), st.floats(0, 1))
def test_returns_satisfy_their_recursion(b, gamma):
    g = rl.returns(rl.Batch(**b), gamma=gamma)
    r = b["reward"] * b["keep"]
    at = {(t, k): i for i, (t, k) in enumerate(zip(b["trajectory"], b["turn"]))}
    for (t, k), i in at.items():
        later = at.get((t, k + 1))
        assert g[i] == r[i] + (gamma * g[later] if later is not None else 0.0)


@st.composite
def ratios(draw):
    b = draw(batches())
    width = draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = len(b["group"])
    mask = (rng.random((n, width)) < 0.8).astype(np.uint8)
    train = -rng.exponential(size=(n, width))
    rollout = train + rng.normal(0, 0.3, size=(n, width))
    return b, train, rollout, mask


@given(ratios(), st.sampled_from(["token", "sequence", "geometric"]))
def test_masks_only_shrink_and_wider_bounds_keep_more(data, level):
    b, train, rollout, mask = data
    batch = rl.Batch(**b)
    kept = []
    for upper in (1.05, 1.2, 2.0, 1e9):
        state = rl.correct_mismatch(batch, train, rollout, mask, rejection=level, upper=upper).state
        trained = state & rl.TRAINED
        assert np.all(trained <= mask)
        assert np.all((state != 0) == (mask != 0)), "padding stays padding, response stays response"
        assert not kept or np.all(trained >= kept[-1])
        kept.append(trained)
    assert np.array_equal(kept[-1], mask)


@given(ratios())
def test_rules_commute(data):
    """Each rule looks at the batch before all of them, so their order is nobody's business."""
    b, train, rollout, mask = data
    batch = rl.Batch(**b)
    rules = [
        {"rejection": "sequence", "upper": 1.5}, {"veto": 0.7, "veto_scope": "suffix"},
        {"band": (0.8, 1.3)},
    ]  # fmt: skip
    together = rl.correct_mismatch(
        batch, train, rollout, mask, rejection="sequence", upper=1.5, veto=0.7, veto_scope="suffix",
        band=(0.8, 1.3),
    ).state  # fmt: skip
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        state = mask
        for i in order:
            state = rl.correct_mismatch(batch, train, rollout, state, **rules[i]).state
        np.testing.assert_array_equal(state, together)


@given(ratios())
def test_flat_and_dense_layouts_agree(data):
    b, train, rollout, mask = data
    batch = rl.Batch(**b)
    wide = [np.pad(x, ((0, 0), (0, 5)), constant_values=np.nan) for x in (train, rollout)]
    wide_mask = np.pad(mask, ((0, 0), (0, 5)))
    options = {"rejection": "geometric", "upper": 1.1, "veto": 0.6}
    a = rl.correct_mismatch(batch, train, rollout, mask, **options)
    c = rl.correct_mismatch(batch, *wide, wide_mask, **options)
    np.testing.assert_array_equal(c.state[:, : mask.shape[1]], a.state)
    for name, value in a.metrics.items():
        np.testing.assert_allclose(c.metrics[name], value, rtol=1e-12, atol=1e-12, err_msg=name)


@given(st.lists(st.floats(-3, 3).map(lambda x: 0.0 if x < 0 else x), min_size=1, max_size=8))
def test_void_rule(rewards):
    n = len(rewards)
    keep = rl.void_turns(
        rl.Batch(group=[0] * n, trajectory=[0] * n, turn=list(range(n)), reward=rewards)
    )
    for k in range(n):
        scored = k > 0 and max(rewards[:k]) > 0
        assert keep[k] == (not (scored and rewards[k] <= 0))
