"""Turns of packed rows: found again whatever rejection did to the mask, and credited like any others."""

import numpy as np
import pytest
import torch

import assay.rl as rl
from assay.integrations import turn_rows


def test_place_and_unpack_keep_turns_apart_whatever_the_mask_says():
    rewards = np.stack([
        turn_rows.place([(0, 3), (5, 6), (7, 9)], [0.0, 1.5, 0.0], 10),
        turn_rows.place([(1, 4)], [-0.5], 10),
        turn_rows.place([], [], 10),
    ])  # fmt: skip
    mask = np.zeros((3, 10), int)
    mask[0, [0, 1, 2, 7, 8]] = 1  # the second turn is void
    mask[1, 2] = 1  # tokens of it were rejected
    rows, where = turn_rows.unpack(rewards, mask, np.array([7, 7, 7]))
    assert rows["turn"].tolist() == [1, 2, 3, 1] and rows["trajectory"].tolist() == [0, 0, 0, 1]
    assert rows["reward"].tolist() == [0.0, 1.5, 0.0, -0.5]
    assert rows["keep"].tolist() == [True, False, True, True]
    assert where.tolist() == [[0, 0, 3], [0, 3, 6], [0, 6, 9], [1, 0, 4]]
    with pytest.raises(ValueError, match=r"turn \[2, 2\) does not lie"):
        turn_rows.place([(2, 2)], [1.0], 10)


def random_packed(seed, rows=24, groups=4, turns=4, width=40):
    rng = np.random.default_rng(seed)
    rewards, mask = np.zeros((rows, width), np.float32), np.zeros((rows, width), np.int64)
    flat = {k: [] for k in ("group", "trajectory", "turn", "reward", "keep", "span")}
    for i in range(rows):
        spans, values, at = [], [], int(rng.integers(0, 2))
        for t in range(int(rng.integers(1, turns + 1))):
            end = at + int(rng.integers(1, 6))
            keep = rng.random() < 0.8
            mask[i, at:end] = keep
            spans.append((at, end))
            values.append(float(np.float32(rng.choice([0.0, rng.random() * 2]))))
            for key, value in (("group", i % groups), ("trajectory", i), ("turn", t + 1),
                               ("reward", values[-1]), ("keep", keep), ("span", (i, at, end))):  # fmt: skip
                flat[key].append(value)
            at = end + int(rng.integers(1, 4))
        rewards[i] = turn_rows.place(spans, values, width)
    return rewards, mask, flat


@pytest.mark.parametrize("name", turn_rows.NAMES)
def test_packed_estimators_are_the_librarys(name):
    rewards, mask, flat = random_packed(3)
    uid = np.array([f"prompt {i % 4}" for i in range(len(mask))])
    a, g = turn_rows.packed_estimator(name)(
        torch.from_numpy(rewards).double(), torch.from_numpy(mask), uid, config={"gamma": 0.5}
    )
    span = flat.pop("span")
    want = rl.advantages(name, **{k: np.array(v) for k, v in flat.items()}, gamma=0.5)
    dense = np.zeros((2, *mask.shape))
    for (i, start, end), x, y in zip(span, want.advantage, want.value):
        dense[0, i, start:end], dense[1, i, start:end] = x, y
    np.testing.assert_allclose(a.numpy(), dense[0] * mask, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(g.numpy(), dense[1] * mask, rtol=1e-12, atol=1e-12)


def test_packed_estimators_refuse_what_hides_the_turns():
    rewards, mask, _ = random_packed(4)
    estimate, uid = turn_rows.packed_estimator("trloo"), np.array(["p"] * len(mask))
    with pytest.raises(ValueError, match="use the KL loss instead"):
        estimate(torch.from_numpy(rewards), torch.from_numpy(mask), uid, config={"use_kl_in_reward": True})
    with pytest.raises(ValueError, match=r"row 0 trains but .*made by place\(\)"):
        estimate(torch.zeros(rewards.shape), torch.from_numpy(mask), uid)
    # One bare row is seen although another one has a reward and nothing to train.
    rewards[5], mask[6] = 0.0, 0
    mask[5, 0] = 1
    with pytest.raises(ValueError, match="row 5 trains"):
        estimate(torch.from_numpy(rewards), torch.from_numpy(mask), uid)


def test_a_reward_too_small_for_float32_still_ends_a_turn():
    tokens = turn_rows.place([(0, 2), (3, 5)], [1e-60, -1e-60], 6)
    rows, _ = turn_rows.unpack(tokens[None], np.ones((1, 6)), np.zeros(1))
    assert rows["turn"].tolist() == [1, 2] and not rows["reward"].any()
