"""Engines whose estimators see a reward tensor, a mask and one identifier per row (verl, SkyRL).

With one row per turn the identifier carries prompt, trajectory and turn:

    uid = encode("prompt-17", sample, turn, void=False)        # set where rows are made

With one row per conversation (packed: the turns' answers and what was said between them in one
sequence) the identifier is the prompt's and the reward tensor carries the turns: place() writes each
turn's reward on its last token, and a reward of 0 as -0.0, so that turns can be told apart whatever
rejection has done to the mask since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import assay.rl as rl

_SEPARATOR = "\x1f"  # not in anybody's identifiers


def encode(prompt: object, trajectory: object, turn: int, *, void: bool = False) -> str:
    """An identifier for one row. Padding rows have turn -1, void turns (see rl.void_turns) say so."""
    return _SEPARATOR.join((str(prompt), str(trajectory), str(int(turn)), "void" if void else ""))


def decode(index: np.ndarray) -> dict[str, np.ndarray]:
    """group, trajectory, turn, keep of each row. An identifier that was not encoded is a prompt, and
    its row a trajectory of one turn."""
    group, trajectory, turn, keep = [], [], [], []
    for row, uid in enumerate(index):
        parts = str(uid).split(_SEPARATOR)
        if len(parts) == 4:
            group.append(parts[0])
            trajectory.append(f"{parts[0]}{_SEPARATOR}{parts[1]}")
            turn.append(int(parts[2]))
            keep.append(parts[3] != "void")
        else:
            group.append(str(uid))
            trajectory.append(f"{uid}{_SEPARATOR}row {row}")
            turn.append(1)
            keep.append(True)
    return {
        "group": np.array(group),
        "trajectory": np.array(trajectory),
        "turn": np.array(turn),
        "keep": np.array(keep),
    }


def estimator(name: str, **options: Any) -> Callable:
    """The named estimator of rl.advantages as a function (token_level_rewards, response_mask, index,
    …) -> (advantages, returns), all tensors (rows, width). A row's reward is the sum of its token
    rewards; gamma comes from the call or from config.gamma."""

    def estimate(
        token_level_rewards: Any,
        response_mask: Any,
        index: np.ndarray,
        config: Any = None,
        gamma: float | None = None,
        **_: Any,
    ) -> tuple[Any, Any]:
        if gamma is None:
            gamma = 1.0 if config is None else float(config.get("gamma", 1.0))
        reward = token_level_rewards.detach().sum(-1).double().cpu()
        result = rl.advantages(name, **decode(index), reward=reward, gamma=gamma, **options)

        def spread(scalar: np.ndarray) -> Any:
            column = token_level_rewards.new_tensor(scalar).unsqueeze(-1)
            return column * response_mask.to(column.dtype)

        return spread(result.advantage), spread(result.value)

    estimate.__name__ = f"assay_{name}"
    estimate.__doc__ = f"rl.advantages({name!r}) over rows whose index was made by encode()."
    return estimate


def place(spans: Sequence[tuple[int, int]], rewards: Sequence[float], width: int) -> np.ndarray:
    """Token rewards (width,) float32 of one packed row: turn i is tokens [start, end) of spans[i]. Turns
    without a token cannot be placed and must not be given."""
    tokens = np.zeros(width, np.float32)
    for (start, end), reward in zip(spans, rewards, strict=True):
        if not 0 <= start < end <= width:
            raise ValueError(f"turn [{start}, {end}) does not lie in a row of {width} tokens")
        narrow = np.float32(reward)  # in which a small reward may become 0
        tokens[end - 1] = narrow if narrow != 0 else -0.0
    return tokens


def unpack(rewards: np.ndarray, mask: np.ndarray, group: np.ndarray) -> tuple[dict, np.ndarray]:
    """Turns of packed rows, from place()d rewards and masks (rows, width): (group, trajectory, turn,
    reward, keep of each turn; (turns, 3) row, begin, end, a turn reaching back to the one before). A turn
    without a masked-in token is not kept: void, or rejected before."""
    ends = (rewards != 0) | np.signbit(rewards)
    row, last = np.nonzero(ends)
    first = np.ones(len(row), bool)
    first[1:] = row[1:] != row[:-1]
    begin = np.zeros(len(row), np.int64)
    begin[1:] = last[:-1] + 1
    begin[first] = 0
    starts = np.maximum.accumulate(np.where(first, np.arange(len(row)), 0))
    trained = np.concatenate([np.zeros((len(mask), 1), np.int64), np.cumsum(mask != 0, axis=1)], axis=1)
    rows = {
        "group": group[row],
        "trajectory": row,
        "turn": np.arange(len(row)) - starts + 1,
        "reward": rewards[row, last].astype(np.float64),
        "keep": trained[row, last + 1] > trained[row, begin],
    }
    return rows, np.stack([row, begin, last + 1], axis=1)


def packed_estimator(name: str, **options: Any) -> Callable:
    """As estimator(), over packed rows with place()d rewards; `index` is the prompt of each row."""

    def estimate(
        token_level_rewards: Any,
        response_mask: Any,
        index: np.ndarray,
        config: Any = None,
        gamma: float | None = None,
        **_: Any,
    ) -> tuple[Any, Any]:
        if gamma is None:
            gamma = 1.0 if config is None else float(config.get("gamma", 1.0))
        if config is not None and config.get("use_kl_in_reward", False):
            raise ValueError(
                "use_kl_in_reward puts a reward on every token, so packed turns cannot be told apart; use the "
                "KL loss instead"
            )
        rewards = token_level_rewards.detach().cpu().numpy()
        mask = response_mask.detach().cpu().numpy()
        bare = (mask != 0).any(axis=1) & ~((rewards != 0) | np.signbit(rewards)).any(axis=1)
        if bare.any():
            raise ValueError(
                f"row {int(bare.argmax())} trains but has no turn's reward: rewards of packed rows are made by "
                "place()"
            )
        turns, where = unpack(rewards, mask, rl.ids([str(x) for x in index]))
        result = rl.advantages(name, **turns, gamma=gamma, **options)

        def spread(scalar: np.ndarray) -> Any:
            dense = np.zeros(rewards.shape, rewards.dtype)
            for (row, begin, end), value in zip(where.tolist(), scalar.tolist()):
                dense[row, begin:end] = value
            return token_level_rewards.new_tensor(dense) * response_mask.to(token_level_rewards.dtype)

        return spread(result.advantage), spread(result.value)

    estimate.__name__ = f"assay_packed_{name}"
    estimate.__doc__ = f"rl.advantages({name!r}) over packed rows with place()d rewards."
    return estimate


#: Estimators that need nothing but rewards.
NAMES = (
    "trloo", "grpo", "turn_independent_grpo", "erloo", "erloo_norm", "reinforce", "grpo_std", "rloo",
    "dr_grpo",
)  # fmt: skip
