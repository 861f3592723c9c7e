"""Who belongs to whom."""

from __future__ import annotations

import numpy as np

from . import _core
from ._arrays import Array, flags, flat, integers
from ._arrays import ids as _ids


def ids(values: Array) -> np.ndarray:
    """(n,) strings or integers -> (n,) int64. Strings are hashed (BLAKE2b, 64 bits): the same string
    has the same number in every batch and process."""
    return _ids(values, "ids")


class Batch:
    """The rows of one training step.

    group       (rows,) integers or strings: the prompt
    trajectory  (rows,) integers or strings: the conversation, unique in the batch
    turn        (rows,) integers, ascending within a conversation; negative: a padding row
    reward      (rows,) reward of this turn alone (optional where a function needs none)
    keep        (rows,) 0 for void turns, whose reward then counts as 0; None: all kept

    int64 and float64 arrays are read where they are, not copied: they must not be changed while the batch
    is in use.

    Raises ValueError, naming the row, if lengths differ, a trajectory is in two groups, a trajectory
    has one turn twice, or the reward of a kept turn is not finite.
    """

    def __init__(
        self,
        *,
        group: Array,
        trajectory: Array,
        turn: Array,
        reward: Array | None = None,
        keep: Array | None = None,
    ) -> None:
        self.group = _ids(group, "group")
        self.trajectory = _ids(trajectory, "trajectory")
        self.turn = integers(turn, "turn")
        self.reward = flat(reward, "reward", np.float64)
        self.keep = flags(keep, "keep")
        self.core = _core.Batch(self.group, self.trajectory, self.turn, self.reward, self.keep)

    def __len__(self) -> int:
        return self.core.rows
